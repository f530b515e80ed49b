#!/usr/bin/env python3
"""Measures the generator on one core: floors of 100x100 a second of CPU time, with both arrays."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable

import floor_gen

FLOORS = 1000
ROUNDS = 7


def measure(name: str, generate: Callable[[], Iterable[floor_gen.Floor]]) -> None:
    """Print the median over the rounds, with the least and the most."""
    rates = []
    for _ in range(ROUNDS + 1):
        start = time.process_time()
        for floor in generate():
            _ = floor.terrain, floor.region
        rates.append(FLOORS / (time.process_time() - start))
    rates = rates[1:]  # without the first round, which allocates
    print(f"{name:14}{statistics.median(rates):9,.0f} floors/s ({min(rates):,.0f} to {max(rates):,.0f})")


numbers = range(1, FLOORS + 1)
measure("generate", lambda: (floor_gen.generate(42, number, kind="standard") for number in numbers))
measure("generate_many", lambda: floor_gen.generate_many(42, numbers, kind="standard", threads=1))
