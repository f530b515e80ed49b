"""The checks of a received floor."""

from __future__ import annotations

import resource
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from xxhash import xxh3_64_intdigest

from conftest import FLOOR, FLOOR_FILES
from floors import Floor, FloorSpec, GridError, HashMismatchError, InvalidFloorError, Kind, Terrain, View, calls, seed
from floors.calls import Progress
from floors.errors import MalformedResponseError, WrongFloorError
from floors.v1 import floors_pb2 as pb

HASH = FLOOR[FLOOR.index(b"\x19") :][:9]
SPEC = FloorSpec(42, 7, 100, 100, Kind.KEEP)


def sealed(message: pb.Floor) -> bytes:
    """The message with its right hash."""
    message.content_hash = 0
    message.content_hash = xxh3_64_intdigest(message.SerializeToString(deterministic=True))
    return message.SerializeToString(deterministic=True)


@pytest.mark.parametrize("path", FLOOR_FILES, ids=lambda path: path.stem)
def test_floors_of_a_server(path: Path) -> None:
    floor = Floor(path.read_bytes())
    assert floor.terrain.shape == floor.region.shape == (floor.height, floor.width)
    assert floor.terrain[floor.entry.y, floor.entry.x] == Terrain.STAIRS_UP
    assert floor.terrain[floor.exit.y, floor.exit.x] == Terrain.STAIRS_DOWN
    assert floor.passable.sum() == floor.metrics.passable_cells
    for room in floor.rooms:
        assert floor.passable[room.center.y, room.center.x]
        assert floor.region[room.center.y, room.center.x] == room.id + 1
    assert floor.spec.number == floor.message.spec.number


def test_every_changed_bit_is_noticed() -> None:
    for at in range(0, len(FLOOR), 7):
        damaged = bytearray(FLOOR)
        damaged[at] ^= 1 << at % 8
        with pytest.raises(InvalidFloorError):
            Floor(bytes(damaged))


def test_a_wrong_hash_is_named() -> None:
    damaged = bytearray(FLOOR)
    damaged[-1] ^= 1
    with pytest.raises(HashMismatchError, match=r"carries content hash .* bytes hash to") as caught:
        Floor(bytes(damaged))
    assert caught.value.carried == Floor(FLOOR).content_hash != caught.value.computed


def test_fields_of_a_newer_server_count_for_the_hash() -> None:
    message = pb.Floor.FromString(FLOOR)
    message.content_hash = 0
    newer = message.SerializeToString(deterministic=True) + bytes([0x82, 0x06, 2, 1, 2])  # field 96
    digest = xxh3_64_intdigest(newer).to_bytes(8, "little")
    floor = Floor(newer + b"\x19" + digest)  # and the hash may stand anywhere
    assert floor.content_hash == int.from_bytes(digest, "little")


def test_two_hashes_are_refused() -> None:
    with pytest.raises(InvalidFloorError):
        Floor(FLOOR + HASH)
    message = pb.Floor.FromString(FLOOR)
    message.generator_version = 300  # two bytes, so that the hash is searched for
    encoded = sealed(message)
    assert Floor(encoded).generator_version == 300
    with pytest.raises(InvalidFloorError, match="2 content hashes"):
        Floor(encoded + HASH)


@pytest.mark.parametrize("encoded", [b"", b"\x0a", b"\x0a\x80", b"\xff" * 30, FLOOR[:20], FLOOR[:-1]])
def test_bytes_that_are_no_floor(encoded: bytes) -> None:
    with pytest.raises(InvalidFloorError):
        Floor(encoded)


def test_an_empty_message_is_no_floor() -> None:
    with pytest.raises(InvalidFloorError, match="terrain"):
        Floor(sealed(pb.Floor(spec=pb.FloorSpec(number=1, width=100, height=100, kind=pb.FLOOR_KIND_BOSS))))


def test_a_malformed_grid_is_named() -> None:
    message = pb.Floor.FromString(FLOOR)
    message.region.data = message.region.data[:-2]
    with pytest.raises(GridError, match="its region grid is broken: grid data do not fill exactly 10000 cells"):
        Floor(sealed(message))
    message = pb.Floor.FromString(FLOOR)
    message.terrain.width = 99
    with pytest.raises(GridError, match="its terrain grid has 99x100 cells, the floor 100x100"):
        Floor(sealed(message))


def test_a_point_outside_is_named() -> None:
    message = pb.Floor.FromString(FLOOR)
    message.exit.x = 100
    with pytest.raises(InvalidFloorError, match="its exit lies at \\(100, "):
        Floor(sealed(message))


@pytest.mark.parametrize(
    ("what", "field"),
    [("rooms", "min"), ("rooms", "max"), ("rooms", "center"), *((what, "at") for what in ("spawns", "items", "traps"))],
)
def test_every_point_is_checked(what: str, field: str) -> None:
    message = pb.Floor.FromString(FLOOR)
    holder = getattr(message, what)[-1]
    point = getattr(holder, field)
    point.y = 0  # has no bytes, like 0 in a field that is left out
    point.MergeFromString(b"\x18\x05")  # field 3, of a newer server
    assert Floor(sealed(message)).message == message
    point.y = 100
    with pytest.raises(InvalidFloorError, match=f"its {what[:-1]} lies at \\(.*, 100\\), outside"):
        Floor(sealed(message))
    holder.ClearField(field)
    with pytest.raises(InvalidFloorError, match=f"the position of its {what[:-1]} is missing"):
        Floor(sealed(message))


def test_names_the_landmark_and_furniture() -> None:
    floor = Floor((FLOOR_FILES[0].parent / "pack_authored.bin").read_bytes())
    assert floor.name == "The Sexton's Rest"
    assert floor.hook.startswith("The sexton dug")
    assert floor.landmark is not None
    assert floor.landmark.name.text == "The Round Chapel"
    assert floor.furniture[0] == ("grave", 14, 16)
    statues = [piece for piece in floor.furniture if piece.archetype == "statue"]
    assert [floor.terrain[piece.y, piece.x] for piece in statues] == [Terrain.PILLAR] * 4


def test_furniture_outside_is_named() -> None:
    message = pb.Floor.FromString(FLOOR)
    message.furniture.add(archetype="grave", cells=[9_999, 1])
    with pytest.raises(InvalidFloorError, match="its furniture grave has cell 10000, outside"):
        Floor(sealed(message))


def test_a_cell_without_terrain_is_refused() -> None:
    message = pb.Floor.FromString(FLOOR)
    message.terrain.palette[0] = 0
    with pytest.raises(InvalidFloorError, match="holds no terrain"):
        Floor(sealed(message))


def test_an_unknown_terrain_is_impassable() -> None:
    message = pb.Floor.FromString(FLOOR)
    message.terrain.palette[len(message.terrain.palette) - 1] = 99
    floor = Floor(sealed(message))
    assert (floor.terrain == 99).any()
    assert not floor.passable[floor.terrain == 99].any()


@pytest.mark.parametrize(
    "requested", [SPEC, FloorSpec(42, 7), FloorSpec(42, 7, 100, 0), FloorSpec(42, 7, 0, 0, Kind.KEEP)]
)
def test_the_requested_floor(requested: FloorSpec) -> None:
    assert Floor(FLOOR, requested).spec == SPEC


@pytest.mark.parametrize(
    "requested",
    [
        FloorSpec(0, 7),
        FloorSpec(42, 8),
        FloorSpec(42, 7, 101),
        FloorSpec(42, 7, kind=Kind.MAZE),
        FloorSpec(42, 7, view=View.PLAYER),
    ],
)
def test_another_floor_is_refused(requested: FloorSpec) -> None:
    with pytest.raises(WrongFloorError, match="another floor") as caught:
        Floor(FLOOR, requested)
    assert (caught.value.requested, caught.value.received) == (requested, SPEC)


@pytest.mark.parametrize("value", [42, np.uint64(42), np.int8(42)])
def test_every_integer_is_a_seed(value: int) -> None:
    assert FloorSpec(value, 1).to_message() == pb.FloorSpec(seed=42, number=1)


INTEGERS = ["seed", "number", "width", "height", "kind", "view"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(
            (field, value)
            for field in INTEGERS
            for value in [42.0, 2.0**53, True, np.bool_(True), np.float64(42), np.array([42]), b"42", Decimal(42), [42]]
        ),
        *((field, "42") for field in ("number", "width", "height")),
        *((field, None) for field in INTEGERS if field != "kind"),
    ],
)
def test_what_is_no_integer_is_refused_by_the_name_of_its_field(field: str, value: object) -> None:
    fields: dict[str, Any] = {"seed": 1, "number": 1, field: value}
    with pytest.raises(TypeError, match=rf"^{field} .* is no integer: write a whole number from 0 to "):
        FloorSpec(**fields)


def test_a_seed_a_kind_and_a_view_have_names() -> None:
    spec = FloorSpec("my dungeon", 7, kind="boss", view="player")
    assert spec == FloorSpec(16080315043033421665, 7, kind=Kind.BOSS, view=View.PLAYER)
    assert spec.to_message() == pb.FloorSpec(seed=spec.seed, number=7, kind=pb.FLOOR_KIND_BOSS, view=pb.VIEW_PLAYER)
    assert FloorSpec.from_message(spec.to_message()) == replace(spec) == spec
    assert spec.at(8) == replace(spec, number=8)
    assert FloorSpec(42, 7, kind=None, view="everything") == FloorSpec(42, 7)
    assert [FloorSpec(42, 7, kind=kind.name.lower()).kind for kind in Kind] == list(Kind)


@pytest.mark.parametrize(
    ("field", "value", "names"),
    [
        ("kind", "hut", "standard, keep, halls, cavern, cyclic, maze, boss, event, story"),
        ("kind", "Boss", "standard, keep"),
        ("kind", "", "standard, keep"),
        ("view", "dm", "everything, player$"),
    ],
)
def test_a_wrong_name_is_refused_with_the_right_ones(field: str, value: str, names: str) -> None:
    fields: dict[str, Any] = {field: value}
    with pytest.raises(ValueError, match=f"^{field} '{value}' is none of {names}"):
        FloorSpec(1, 1, **fields)


@pytest.mark.parametrize("text", ["0" * 5000 + "42", "0x" + "0" * 5000 + "2a", "+" + "0" * 30 + "42"])
def test_zeros_before_a_seed_do_not_count(text: str) -> None:
    assert seed(text) == 42


@pytest.mark.parametrize("text", ["9" * 5000, "-" + "9" * 5000, "a\ud800"])
def test_a_text_that_is_no_seed_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"^seed .* write "):
        seed(text)
    with pytest.raises(TypeError, match="seed 42 is no text: write a number or a word"):
        seed(cast("str", 42))


def test_floors_of_equal_content_are_equal() -> None:
    floor, other = Floor(FLOOR), Floor(FLOOR_FILES[0].read_bytes())
    assert floor == Floor(FLOOR)
    assert {floor, Floor(FLOOR), other} == {floor, other}
    assert floor != other
    assert floor != FLOOR


def test_a_spec_that_no_floor_has_is_refused() -> None:
    message = pb.Floor.FromString(FLOOR)
    message.spec.view = cast("pb.View", -1)
    with pytest.raises(InvalidFloorError, match="its spec is broken: view -1 is not in 0"):
        Floor(sealed(message))


def test_ways_outside_the_floor_lead_nowhere() -> None:
    floor = Floor(FLOOR)
    for outside in [(-1, 0), (0, -1), (100, 0), (0, 100), (2**40, 2**40)]:
        assert not floor.reachable(outside).any()
        assert floor.path(outside, floor.entry) is None
        assert floor.path(floor.entry, outside) is None
        assert floor.distance(outside, outside) is None


def test_ways_follow_the_terrain_as_it_is_now() -> None:
    floor = Floor(FLOOR)
    assert (floor.passable_with([]) == floor.passable).all()
    assert floor.passable_with(np.array([1, 2, 3])).sum() == floor.passable.sum() + 3
    assert floor.distance(floor.entry, floor.exit) is None
    floor.terrain[:] = Terrain.FLOOR
    path = floor.path((0, 0), (99, 99))
    assert path is not None
    assert path[99] == (99, 0)  # of as short ways, east before south
    assert len(set(floor.starts(20_000))) == 10_000
    assert floor.starts(0) == []


@pytest.mark.parametrize("place", [None, 7, (1,), (1, 2, 3), (1.0, 2), "ab"])
def test_what_is_no_cell_is_named(place: Any) -> None:  # noqa: ANN401
    floor = Floor(FLOOR)
    with pytest.raises(TypeError, match=r"^start .* is no cell: write \(x, y\)"):
        floor.reachable(place)
    with pytest.raises(TypeError, match=r"^end .* is no cell"):
        floor.path(floor.entry, place)


def test_keys_and_counts_of_a_party_are_integers() -> None:
    floor = Floor(FLOOR)
    with pytest.raises(TypeError, match=r"^keys 1 is no list: write the ids of locks"):
        floor.passable_with(cast("list[int]", 1))
    with pytest.raises(TypeError, match=r"^a key '1' is no integer"):
        floor.reachable(floor.entry, cast("list[int]", "1"))
    with pytest.raises(ValueError, match="count -1 is not in 0"):
        floor.starts(-1)


@pytest.mark.parametrize("pack", [None, 7, b"mine", Path("mine")])
def test_a_pack_is_text(pack: object) -> None:
    fields: dict[str, Any] = {"pack": pack}
    with pytest.raises(TypeError, match=r"^pack .* is no text: write NAME or NAME@HASH"):
        FloorSpec(1, 1, **fields)


@pytest.mark.parametrize("count", [3.0, True, "3", None, np.float64(3)])
def test_a_count_is_an_integer(count: object) -> None:
    with pytest.raises(TypeError, match=r"^count .* is no integer"):
        Progress(FloorSpec(1, 1), cast("int", count))
    with pytest.raises(ValueError, match="count -1 is not in 0"):
        Progress(FloorSpec(1, 1), -1)


@pytest.mark.parametrize(("field", "value"), [("seed", -1), ("seed", 2**64), ("number", 2**32), ("width", -5)])
def test_a_spec_names_the_field_that_does_not_fit(field: str, value: int) -> None:
    fields: dict[str, Any] = {"seed": 1, "number": 1, field: value}
    with pytest.raises(ValueError, match=f"{field} {value} is not in"):
        FloorSpec(**fields)


@pytest.mark.parametrize("field", [8, 9, 10, 11, 12, 14, 21, 99])
def test_lists_of_empty_messages_are_refused_without_decoding_them(field: int) -> None:
    entry = (bytes([field << 3 | 2]) if field < 16 else bytes([(field << 3 | 2) & 0x7F | 0x80, field >> 4])) + b"\0"
    floor = entry * (10 * 2**20 // len(entry))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InvalidFloorError, match="more than 262144 entries"):
        Floor(floor)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 2**10  # KiB


def test_palettes_that_take_more_than_any_floor_are_refused() -> None:
    with pytest.raises(InvalidFloorError, match="more than 262144 entries"):
        Floor(pb.Floor(region=pb.Grid(palette=[1] * 600_000)).SerializeToString())
    # Each less than the bound, and together more.
    rooms = [pb.Room()] * 200_000
    with pytest.raises(InvalidFloorError, match="more than 262144 entries"):
        Floor(pb.Floor(region=pb.Grid(palette=[1] * 200_000), rooms=rooms).SerializeToString())


def test_answers_with_lists_that_no_server_has_are_refused() -> None:
    empty = b"\x0a\x00" * 2**19
    for read in (
        lambda: calls.read_packs(empty),
        lambda: calls.read_pack(empty, ""),
        lambda: calls.read_batch(empty, [FloorSpec(42, 7)], None),
        lambda: calls.read_info(b"\x3a\x00" * 2**13),
        lambda: calls.read_info(b"\x3a\x00" * 2**20),
    ):
        with pytest.raises(MalformedResponseError):
            read()
