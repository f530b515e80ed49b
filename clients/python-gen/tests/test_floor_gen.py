"""The generator as a Python module. With the package `floors` and a server, floors are compared byte for byte."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest

import floor_gen

ROOT = Path(__file__).parents[3]
GOLDENS = ROOT / "floor-wire" / "tests" / "snapshots" / "goldens__content_hashes_are_those_on_record.snap"


def test_the_content_hashes_are_those_of_the_server() -> None:
    """The record that the server's own tests compare: every kind in four sizes."""
    text = GOLDENS.read_text()
    assert f"generator version {floor_gen.GENERATOR_VERSION}\n" in text
    record = re.findall(r"^(\w+) (\d+)x(\d+) tower (\d+) floor (\d+): ([0-9a-f]{16}) (\d+) B$", text, re.MULTILINE)
    assert len(record) >= 72
    for kind, width, height, seed, number, content_hash, length in record:
        floor = floor_gen.generate(int(seed), int(number), int(width), int(height), kind)
        assert f"{floor.content_hash:016x}" == content_hash, floor
        assert len(floor.encode()) == int(length)


def test_floors_equal_those_of_a_server() -> None:
    floors = pytest.importorskip("floors", reason="the package `floors` is not installed")
    server = os.environ.get("FLOOR_ADDRESS")
    if not server:
        pytest.skip("FLOOR_ADDRESS does not name a running server")
    generated = floor_gen.generate_many(42, range(1, 201))
    with floors.Client(server) as client:
        for mine, received in zip(generated, client.stream(floors.FloorSpec(42, 1), 200), strict=True):
            assert mine.encode() == received.encoded


def test_the_package_floors_reads_the_bytes() -> None:
    floors = pytest.importorskip("floors", reason="the package `floors` is not installed")
    mine = floor_gen.generate(42, 10)
    read = floors.Floor(mine.encode(), floors.FloorSpec(42, 10, 100, 100, floors.Kind.BOSS))
    assert read.content_hash == mine.content_hash
    assert np.array_equal(read.terrain, mine.terrain)
    assert np.array_equal(read.region, mine.region)
    for name in ("rooms", "connections", "spawns", "items", "locks", "traps"):
        theirs = getattr(read, name)
        assert len(theirs) == len(getattr(mine, name))
        for one, other in zip(getattr(mine, name), theirs, strict=True):
            for field in other.DESCRIPTOR.fields:
                value, expected = getattr(one, field.name), getattr(other, field.name)
                at = (expected.x, expected.y) if field.message_type else expected
                assert ((value.x, value.y) if field.message_type else value) == at


def test_arrays() -> None:
    floor = floor_gen.generate(42, 7, 64, 48, "cavern")
    assert (floor.width, floor.height, floor.kind, floor.seed, floor.number) == (64, 48, "cavern", 42, 7)
    assert floor.terrain.shape == floor.region.shape == (48, 64)
    assert floor.terrain.dtype == floor.region.dtype == np.uint8
    assert floor.terrain[floor.entry.y, floor.entry.x] == 6
    assert floor.terrain[floor.exit.y, floor.exit.x] == 7
    floor.terrain[0, 0] = 2  # the array is the program's own
    assert floor.terrain[0, 0] == 2
    assert floor.content_hash == floor_gen.generate(42, 7, 64, 48, 4).content_hash
    assert repr(floor) == "<Floor 7 of tower 42, cavern, 64x48>"


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_many_floors_come_in_order(threads: int | None) -> None:
    numbers = [5, 3, 3, *range(100, 400)]
    floors = floor_gen.generate_many(1, numbers, 32, 32, threads=threads)
    assert [floor.number for floor in floors] == numbers
    assert floors[150].encode() == floor_gen.generate(1, numbers[150], 32, 32).encode()
    assert floor_gen.generate_many(1, []) == []


def test_threads_of_python_share_the_generator() -> None:
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.extend(floor_gen.generate(9, n).content_hash for n in range(1, 20)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted([floor_gen.generate(9, n).content_hash for n in range(1, 20)] * 4)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"number": 0}, "floor number 0 is not in 1 ..= 1000000"),
        ({"number": 1_000_001}, "floor number 1000001"),
        ({"number": 1, "width": 15}, "width 15 is not in 16 ..= 512"),
        ({"number": 1, "height": 513}, "height 513 is not in 16 ..= 512"),
        ({"number": 1, "kind": "hut"}, "kind hut is none of standard, keep"),
        ({"number": 1, "kind": 10}, "kind 10 is none of standard, keep"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        floor_gen.generate(1, **arguments)


def test_wrong_numbers_and_threads() -> None:
    with pytest.raises(ValueError, match="floor number 0"):
        floor_gen.generate_many(1, [1, 0])
    with pytest.raises(ValueError, match="threads 0"):
        floor_gen.generate_many(1, [1], threads=0)
    with pytest.raises(OverflowError):
        floor_gen.generate(-1, 1)
    with pytest.raises(TypeError):
        floor_gen.generate_many(1, 7)  # type: ignore[arg-type]


def test_the_stub_names_what_the_module_has() -> None:
    stub = (Path(__file__).parents[1] / "floor_gen.pyi").read_text()
    names = set(re.findall(r"^(?:class |def )?(\w+)(?=[:(])", stub, re.MULTILINE))
    assert names == {name for name in dir(floor_gen) if not name.startswith("_")} - {"floor_gen"}  # the library itself
    for name, body in re.findall(r"^class (\w+):\n((?:    .*\n)+)", stub, re.MULTILINE):
        members = {member for member in dir(getattr(floor_gen, name)) if not member.startswith("_")}
        assert set(re.findall(r"def (\w+)", body)) == members
