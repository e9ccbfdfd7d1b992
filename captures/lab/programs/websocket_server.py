"""A chat room of Tornado's: websocket_server.py PORT nagle|nodelay

To each message it pushes ten of random length, 0 to 1280 bytes, and its length in the end.
"""

import asyncio
import os
import random
import sys

from tornado.web import Application
from tornado.websocket import WebSocketHandler

LENGTHS = random.Random(1)


class Room(WebSocketHandler):
    """Answers with pushes."""

    def open(self) -> None:
        """Tornado leaves Nagle's algorithm on by default."""
        self.set_nodelay(sys.argv[2] == "nodelay")

    async def on_message(self, message: str | bytes) -> None:
        """Ten pushes, and the end."""
        for _ in range(10):
            await self.write_message(os.urandom(LENGTHS.randint(0, 1280)), binary=True)
        await self.write_message(f"{len(message)} bytes")


async def main() -> None:
    """Serve until killed."""
    Application([("/", Room)]).listen(int(sys.argv[1]))
    await asyncio.Event().wait()


asyncio.run(main())
