"""A Tornado server: tornado_server.py PORT SEED

/page comes in pieces, with work between some; /chat tells everybody what one client says.
"""

from __future__ import annotations

import asyncio
import sys

from talk import Talk
from tornado import web, websocket

talk = Talk(sys.argv[2])


class Page(web.RequestHandler):
    """Head and pieces of a body."""

    async def get(self) -> None:
        """Send them."""
        for _ in range(talk.random.randint(1, 4)):
            self.write(talk.text())
            await self.flush()
            if talk.random.random() < 0.3:
                await asyncio.sleep(talk.pause_s())


class Chat(websocket.WebSocketHandler):
    """One of the clients of a chat."""

    everybody: set[Chat] = set()  # noqa: RUF012

    def open(self) -> None:
        """Take part."""
        self.everybody.add(self)

    def on_message(self, message: str | bytes) -> None:
        """Pass it on."""
        for other in self.everybody:
            other.write_message(message)

    def on_close(self) -> None:
        """Leave."""
        self.everybody.discard(self)


async def main() -> None:
    """Serve until killed."""
    web.Application([("/page", Page), ("/chat", Chat)]).listen(int(sys.argv[1]))
    await asyncio.Event().wait()


asyncio.run(main())
