"""An aiohttp server: aiohttp_server.py PORT SEED

/page comes in pieces, with work between some; /chat tells everybody what one client says.
"""

from __future__ import annotations

import asyncio
import sys

from aiohttp import WSMsgType, web
from talk import Talk

talk = Talk(sys.argv[2])
chatting: set[web.WebSocketResponse] = set()


async def page(request: web.Request) -> web.StreamResponse:
    """Head and pieces of a body."""
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(talk.random.randint(1, 4)):
        await response.write(talk.text().encode())
        if talk.random.random() < 0.3:
            await asyncio.sleep(talk.pause_s())
    await response.write_eof()
    return response


async def chat(request: web.Request) -> web.WebSocketResponse:
    """One of the clients of a chat."""
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    chatting.add(socket)
    async for message in socket:
        if message.type == WSMsgType.TEXT:
            for other in chatting:
                await other.send_str(message.data)
    chatting.discard(socket)
    return socket


app = web.Application()
app.add_routes([web.get("/page", page), web.get("/chat", chat)])
web.run_app(app, port=int(sys.argv[1]), print=None, access_log=None)
