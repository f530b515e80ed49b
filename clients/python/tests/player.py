"""A fake player for .ci/restart: player.py SERVER SECONDS.

It calls and streams for that time with both clients, prints a line for each failure, and a summary.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from floors import AsyncClient, Client, Floor, FloorsError, FloorSpec

PAUSE = 0.005
STREAM = 300
FIRST = FloorSpec(43, 1, 32, 32)


class Player:
    """What the player got until the end. Threads and tasks share it."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self.calls = self.floors = self.failed = 0
        self.longest = 0.0

    @property
    def plays(self) -> bool:
        return time.monotonic() < self.end

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        except (FloorsError, AssertionError) as error:
            self.failed += 1
            print(f"{name}: {error!r}")
        self.longest = max(self.longest, time.monotonic() - start)

    def received(self, floor: Floor | None, number: int) -> bool:
        """Whether the stream goes on after this floor; None is its end."""
        if floor is None:
            return False
        assert floor.spec.number == number, f"{floor.spec} instead of {number}"
        self.floors += 1
        return self.plays

    def call(self, client: Client) -> None:
        for number in range(1, 1_000_000):
            with self.timed("call"):
                client.get(FloorSpec(42, number, 32, 32))
                self.calls += 1
            if not self.plays:
                return
            time.sleep(PAUSE)

    def stream(self, client: Client) -> None:
        again = True
        while again:
            with client.stream(FIRST, STREAM) as stream:
                number, more = 1, True
                while more:
                    more = False
                    with self.timed("stream"):
                        more = self.received(next(stream, None), number)
                    number += 1
                    time.sleep(PAUSE)
            again = self.plays

    async def call_async(self, client: AsyncClient) -> None:
        for number in range(1, 1_000_000):
            with self.timed("asyncio call"):
                await client.get(FloorSpec(44, number, 32, 32))
                self.calls += 1
            if not self.plays:
                return
            await asyncio.sleep(PAUSE)

    async def stream_async(self, client: AsyncClient) -> None:
        again = True
        while again:
            async with client.stream(FIRST, STREAM) as stream:
                number, more = 1, True
                while more:
                    more = False
                    with self.timed("asyncio stream"):
                        more = self.received(await anext(stream, None), number)
                    number += 1
                    await asyncio.sleep(PAUSE)
            again = self.plays

    async def play_async(self, server: str) -> None:
        async with AsyncClient(server) as client:
            await asyncio.gather(self.call_async(client), self.stream_async(client))


def main() -> None:
    """Play."""
    server, seconds = sys.argv[1], float(sys.argv[2])
    player = Player(seconds)
    with Client(server) as client:
        threads = [threading.Thread(target=play, args=[client]) for play in (player.call, player.stream)]
        for thread in threads:
            thread.start()
        asyncio.run(player.play_async(server))
        for thread in threads:
            thread.join()
    print(
        f"{player.calls} calls, {player.floors} floors streamed, {player.failed} failed, longest {player.longest:.1f} s"
    )


if __name__ == "__main__":
    main()
