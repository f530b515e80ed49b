#!/usr/bin/env python3
"""Measures the client on one core: floors a second decoded, and floors a second fetched.

`decode` times what `Floor(...)` does with received bytes: hash check, protobuf, both grids, all positions. The floors
are fetched before. `batch`, `stream` and `get` time whole calls to a server that has the floors in memory. The CPU time
is that of the client alone, with gRPC's threads; on a busy machine, it is the figure that says something.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import islice

from floors import Client, Floor, FloorSpec, Kind

BATCH = 100
"""Floors in a batch."""


def measure(name: str, floors: int, rounds: int, run: Callable[[], int]) -> None:
    """Print floors a second, by the clock and by the CPU time of this process: medians over `rounds`."""
    run()
    by_clock, by_cpu = [], []
    for _ in range(rounds):
        clock, cpu = time.perf_counter(), time.process_time()
        assert run() == floors
        by_clock.append(floors / (time.perf_counter() - clock))
        by_cpu.append(floors / (time.process_time() - cpu))
    per_core = statistics.median(by_cpu)
    print(
        f"{name:8}{statistics.median(by_clock):9,.0f} floors/s, {per_core:9,.0f} a second of CPU time "
        f"({min(by_cpu):,.0f} to {max(by_cpu):,.0f}), {1e6 / per_core:7.1f} us a floor"
    )


def main() -> None:
    """Fetch the floors, then measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="http://127.0.0.1:50051")
    parser.add_argument("--floors", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--kind", choices=[kind.name.lower() for kind in Kind], default="standard")
    parser.add_argument("--width", type=int, default=100)
    parser.add_argument("--height", type=int, default=100)
    arguments = parser.parse_args()

    first = FloorSpec(42, 1, arguments.width, arguments.height, Kind[arguments.kind.upper()])
    with Client(arguments.server) as client:
        received = [floor.encoded for floor in client.stream(first, arguments.floors)]
        specs = [first.at(number) for number in range(1, arguments.floors + 1)]
        print(f"{len(received)} {arguments.kind} floors of {sum(map(len, received)) // len(received)} bytes on average")

        def decode() -> int:
            return sum(Floor(encoded, spec) is not None for encoded, spec in zip(received, specs, strict=True))

        def batch() -> int:
            rest = iter(specs)
            return sum(len(client.batch(chunk)) for chunk in iter(lambda: list(islice(rest, BATCH)), []))

        def stream() -> int:
            return sum(1 for _ in client.stream(first, arguments.floors))

        def get() -> int:
            return sum(client.get(spec) is not None for spec in specs)

        for run in (decode, batch, stream, get):
            measure(run.__name__, arguments.floors, arguments.rounds, run)


if __name__ == "__main__":
    main()
