"""An aiohttp server: aiohttp_server.py PORT SEED

/page comes in pieces, with work between some.
"""

from __future__ import annotations

import asyncio
import sys

from aiohttp import web
from talk import Talk

talk = Talk(sys.argv[2])


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


app = web.Application()
app.add_routes([web.get("/page", page)])
web.run_app(app, port=int(sys.argv[1]), print=None, access_log=None)
