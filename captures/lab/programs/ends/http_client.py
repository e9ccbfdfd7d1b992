"""An aiohttp client: http_client.py HOST PORT SEED pages|speak|listen COUNT"""

from __future__ import annotations

import asyncio
import sys

import aiohttp
from talk import Talk


async def main() -> None:
    """Ask for pages, or take part in a chat."""
    host, port, seed, role, count = sys.argv[1:]
    talk, server = Talk(seed), f"http://{host}:{port}"
    async with aiohttp.ClientSession() as session:
        if role == "pages":
            for _ in range(int(count)):
                async with session.get(f"{server}/page") as reply:
                    await reply.read()
                await asyncio.sleep(talk.pause_s())
            return
        async with session.ws_connect(f"{server}/chat") as socket:
            if role == "listen":
                async for _ in socket:
                    pass
            for _ in range(int(count)):
                for _ in range(talk.random.randint(1, 3)):
                    await socket.send_str(talk.text())
                await socket.receive()
                await asyncio.sleep(talk.pause_s())


asyncio.run(main())
