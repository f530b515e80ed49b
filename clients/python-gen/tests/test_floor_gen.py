"""The generator as a Python module. With the package `floors` and a server, floors are compared byte for byte."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import floor_gen

ROOT = Path(__file__).parents[3]
VECTORS = ROOT / "proto" / "vectors"
GOLDENS = ROOT / "crates" / "floor-wire" / "tests" / "snapshots" / "goldens__content_hashes_are_those_on_record.snap"


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
    # What a game shows is read in the same way from both.
    assert (mine.name, mine.hook) == (read.name, read.hook)
    assert mine.name_text.parts == list(read.message.name.parts)
    assert mine.landmark == mine.rooms[read.message.landmark - 1]
    assert [(piece.archetype, piece.x, piece.y) for piece in mine.furniture] == read.furniture
    for name in ("rooms", "connections", "spawns", "items", "locks", "traps"):
        theirs = getattr(read, name)
        assert len(theirs) == len(getattr(mine, name))
        for one, other in zip(getattr(mine, name), theirs, strict=True):
            for field in other.DESCRIPTOR.fields:
                if field.name == "name":
                    assert (one.name.text, one.name.id) == (other.name.text, other.name.id)
                    continue
                value, expected = getattr(one, field.name), getattr(other, field.name)
                at = (expected.x, expected.y) if field.message_type else expected
                assert ((value.x, value.y) if field.message_type else value) == at


def test_the_floors_of_a_pack_are_those_of_the_vectors() -> None:
    """Generated floors and authored ones."""
    floors = pytest.importorskip("floors", reason="the package `floors` is not installed")
    manifest = json.loads((VECTORS / "manifest.json").read_text())
    (described,) = manifest["packs"]
    pack = floor_gen.Pack((VECTORS / described["bytes"]).read_bytes())
    assert (pack.name, f"{pack.hash:016x}") == (described["name"], described["hash"])
    assert pack.reference == f"{pack.name}@{pack.hash:016x}"
    assert (pack.description, pack.themes) == (described["description"], described["themes"])
    assert pack.floors_authored == described["floors_authored"]
    vectors = [vector for vector in manifest["floors"] if vector.get("pack") == pack.name]
    assert len(vectors) >= 7
    for vector in vectors:
        asked = floors.v1.floors_pb2.GetFloorRequest.FromString(bytes.fromhex(vector["request"])).spec
        floor = pack.generate(asked.seed, asked.number, asked.width, asked.height, asked.kind)
        assert floor.encode() == (VECTORS / vector["bytes"]).read_bytes(), vector["name"]
        decoded = json.loads((VECTORS / vector["json"]).read_text())["floor"]
        assert floor.name == floor.name_text.text == decoded.get("name", {}).get("text", "")
        assert floor.hook == floor.hook_text.text == decoded.get("hook", {}).get("text", "")
        assert (floor.landmark.id + 1 if floor.landmark else 0) == decoded.get("landmark", 0)
        if floor.furniture:
            first, piece = decoded["furniture"][0], floor.furniture[0]
            assert (piece.archetype, piece.y * floor.width + piece.x) == (first["archetype"], first["cells"][0])
        assert len(floor.furniture) == sum(len(kind["cells"]) for kind in decoded.get("furniture", []))
        assert (floor.pack, floor.pack_hash, floor.theme) == (pack.reference, pack.hash, decoded["theme"])
        assert [spawn.archetype for spawn in floor.spawns] == [spawn["archetype"] for spawn in decoded["spawns"]]
    many = pack.generate_many(7, [4, 5, 6], threads=2)
    assert [floor.encode() for floor in many] == [pack.generate(7, number).encode() for number in (4, 5, 6)]
    assert [floor.theme for floor in many] == ["crypt", "graveyard", "crypt"]
    assert repr(many[0]) == f"<Floor 4 of tower 7 of {pack.reference}, boss, 48x32>"
    assert (floor_gen.generate(7, 4).pack, floor_gen.generate(7, 4).pack_hash) == ("", 0)


def test_the_generator_of_a_pack_makes_the_floors_on_record() -> None:
    """Version 4 of the tower, which this generator does not make any more, as servers name and hash it."""
    pack = floor_gen.Pack((ROOT / "packs" / "tower-4.floorpack").read_bytes())
    reference, *lines = (ROOT / "crates" / "floor-pack" / "tests" / "tower-4-served.txt").read_text().splitlines()
    assert (pack.reference, len(lines)) == (reference, 72)
    for line in lines:
        matched = re.fullmatch(r"(\w+) (\d+)x(\d+) tower (\d+) floor (\d+): ([0-9a-f]{16}) (\d+) B", line)
        assert matched, line
        kind, width, height, seed, number, content_hash, length = matched.groups()
        floor = pack.generate(int(seed), int(number), int(width), int(height), kind)
        assert (f"{floor.content_hash:016x}", len(floor.encode())) == (content_hash, int(length)), line
    many = pack.generate_many(42, range(1, 9), threads=4)
    assert [floor.encode() for floor in many] == [pack.generate(42, number).encode() for number in range(1, 9)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_opens_packs_too() -> None:
    """As `multiprocessing` forks. The process has none of the threads that compiled a generator before."""
    program = """
import os, pathlib, signal, sys, floor_gen
file = pathlib.Path(sys.argv[1]).read_bytes()
floor = floor_gen.Pack(file).generate(1, 1).encode()
if child := os.fork():
    sys.exit(os.waitpid(child, 0)[1])
signal.alarm(30)
os._exit(floor_gen.Pack(file).generate(1, 1).encode() != floor)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, ROOT / "packs" / "tower-4.floorpack"], check=True)


def test_everything_wrong_with_a_pack_is_raised_at_its_place() -> None:
    manifest, vault = b'name = "mine"\nsize = 3\n', b"name: a\nmap:\n?\n"
    file = b"floorpack 1\nfile pack.toml %d\n%s\n" % (len(manifest), manifest)
    file += b"file vaults/a.txt %d\n%s\n" % (len(vault), vault)
    with pytest.raises(floor_gen.InvalidPackError, match=r"^pack.toml:2:1: .*\nvaults/a.txt:3:1: ") as caught:
        floor_gen.Pack(file)
    first, *_, last = caught.value.faults
    assert (first.file, first.line, first.column) == ("pack.toml", 2, 1)
    assert "size" in first.message
    assert "pack.toml" not in first.message
    assert (last.file, last.line, last.column) == ("vaults/a.txt", 3, 1)
    with pytest.raises(ValueError, match="a pack begins with the line `floorpack 1`"):
        floor_gen.Pack(b"PK")


def test_a_side_of_0_is_that_of_the_pack() -> None:
    with pytest.raises(ValueError, match=r"width 15 is not in 16 \.\.= 512"):
        floor_gen.Pack((VECTORS / "packs/sample.floorpack").read_bytes()).generate(1, 1, 15)
    floor = floor_gen.Pack((VECTORS / "packs/sample.floorpack").read_bytes()).generate(1, 1)
    assert (floor.width, floor.height) == (48, 32)


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
    for name, body in re.findall(r"^@final\nclass (\w+):\n((?:    .*\n)+)", stub, re.MULTILINE):
        members = {member for member in dir(getattr(floor_gen, name)) if not member.startswith("_")}
        assert set(re.findall(r"def (\w+)", body)) - {"__init__"} == members
