"""The clients against a real server: the program in FLOOR_SERVER."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import floors
from conftest import FLOOR
from floors import AsyncClient, Client, ClimbFloor, FloorSpec, InvalidFloorError, Kind, Terrain, View, Violation, calls
from floors.climb import ClimbCall
from floors.v1 import floors_pb2 as pb

VECTOR = pb.Floor.FromString(FLOOR)


def receipt_of(floor: int) -> pb.Receipt:
    """An unsigned receipt: the client believes its server."""
    climb = pb.Climb(tower="daily", floor=floor, width=100, height=100)
    return pb.Receipt(climb=climb.SerializeToString())


def test_get(server: str) -> None:
    with Client(server) as client:
        first = client.get(FloorSpec(seed=42, number=7))
        again = client.get(FloorSpec(seed=42, number=7))
    assert again.served.by == {"lru": 1}
    assert first.encoded == again.encoded
    assert first.terrain.shape == (100, 100)
    assert np.count_nonzero(first.terrain == Terrain.STAIRS_DOWN) == 1


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("size", [(16, 16), (100, 100), (200, 120), (512, 512)])
def test_every_kind_and_size(server: str, kind: Kind, size: tuple[int, int]) -> None:
    with Client(server) as client:
        floor = client.get(FloorSpec(1, 3, *size, kind))
    assert floor.terrain.shape == floor.region.shape == size[::-1]
    assert floor.spec.kind == kind
    assert floor.passable.sum() == floor.metrics.passable_cells
    assert floor.region.max() <= len(floor.rooms)
    for spawn in floor.spawns:
        assert floor.passable[spawn.at.y, spawn.at.x] or floor.terrain[spawn.at.y, spawn.at.x] == Terrain.SECRET_DOOR


def test_the_players_view(server: str) -> None:
    spec = FloorSpec("my dungeon", 7, kind="boss", view="player")
    with Client(server) as client:
        floor, next_floor = client.stream(spec, 2)
        assert floor == client.get(spec) != client.get(replace(spec, view=View.EVERYTHING))
    assert floor.spec.view == next_floor.spec.view == View.PLAYER


def test_batch_and_stream_give_the_same_floors(server: str) -> None:
    first = FloorSpec(42, 100)
    with Client(server) as client:
        batch = client.batch(first.at(number) for number in range(100, 150))
        stream = client.stream(first, 50)
        assert [floor.encoded for floor in stream] == [floor.encoded for floor in batch]
        assert sum(batch.served.by.values()) == 50
        assert sum(stream.served.by.values()) == 50


def test_a_stream_can_be_left(server: str) -> None:
    with Client(server) as client:
        with client.stream(FloorSpec(43, 1), 10_000) as stream:
            assert next(stream).spec.number == 1
        assert list(stream) == []
        assert client.get(FloorSpec(43, 1)).spec.number == 1


def test_trace_and_no_cache(server: str) -> None:
    with Client(server) as client:
        floor = client.with_options(trace=True, no_cache=True).get(FloorSpec(44, 1))
    assert floor.served.by == {"generated": 1}
    assert floor.served.server_us is not None
    assert floor.served.trace[-1].tier == "generated"


def test_another_generator_version_is_refused(server: str) -> None:
    with Client(server) as client:
        version = client.server_info().generator_version
        assert client.with_options(generator_version=version).get(FloorSpec(42, 7)).generator_version == version
        other = client.with_options(generator_version=version + 1)
        message = f"version {version + 1}, and this server generates version {version}"
        with pytest.raises(floors.FailedPreconditionError, match=message):
            other.get(FloorSpec(42, 7))
        with pytest.raises(floors.FailedPreconditionError, match=message):
            other.batch([FloorSpec(42, 7)])
        with pytest.raises(floors.FailedPreconditionError, match=message):
            next(other.stream(FloorSpec(42, 7), 2))


def test_wrong_fields_are_named(server: str) -> None:
    with Client(server) as client:
        with pytest.raises(floors.InvalidArgumentError) as caught:
            client.batch([FloorSpec(1, 1), FloorSpec(1, 0), FloorSpec(1, 1, width=15)])
        assert [violation.field for violation in caught.value.violations] == ["specs[1].number", "specs[2].width"]
        with pytest.raises(floors.InvalidArgumentError) as caught:
            next(client.stream(FloorSpec(1, 1), 0))
        assert isinstance(caught.value.violations[0], Violation)
        assert caught.value.violations[0].field == "count"


def test_search(server: str) -> None:
    first = FloorSpec(42, 1, 48, 48)
    with Client(server) as client:
        found = list(client.search(first, 100, "kind == cavern"))
        assert found
        assert all(match.spec.kind == Kind.CAVERN and match.name for match in found)
        floor = client.get(found[0].spec)
        assert (floor.spec, floor.name) == found[0]
        with pytest.raises(floors.InvalidArgumentError) as caught:
            next(client.search(first, 100, "bogus > 1"))
        assert [violation.field for violation in caught.value.violations] == ["condition"]

    async def run() -> None:
        async with AsyncClient(server) as client:
            assert [match async for match in client.search(first, 100, "kind == cavern")] == found

    asyncio.run(run())


def test_server_info(server: str) -> None:
    with Client(server) as client:
        info = client.server_info()
        assert info.generator_version == client.get(FloorSpec(1, 1)).generator_version
    assert set(Kind) <= set(info.kinds)
    assert [tier.name for tier in info.tiers] == ["lru", "generated"]


def test_packs(server: str) -> None:
    with Client(server) as client:
        found = client.packs()
        assert "tower" in [info.name for info in found]
        for info in found:
            pack = client.pack(f"{info.name}@{info.hash:016x}" if info.hash else info.name)
            assert (pack.name, pack.hash) == (info.name, info.hash)
            assert pack.file


def test_a_climb(server: str) -> None:
    with Client(server) as client:
        daily = client.get_daily()
        start = client.start_climb(daily.tower, player="Ada")
        assert start.floor is not None
        assert (start.floor.width, start.floor.height, start.floor.spec.seed) == (daily.width, daily.height, 0)
        assert (start.climb.tower, start.climb.floor, start.climb.player) == (daily.tower, 1, "Ada")
        assert start.receipt.key in [key.id for key in client.server_info().receipt_keys]
        with pytest.raises(floors.InvalidArgumentError) as caught:
            client.submit_floor(start.receipt, b"\x04\xff")
        assert [violation.field for violation in caught.value.violations] == ["acts"]
        altered = pb.Receipt(climb=start.receipt.climb, signature=bytes(64), key=start.receipt.key)
        with pytest.raises(floors.InvalidArgumentError) as caught:
            client.submit_floor(altered, b"")
        assert [violation.field for violation in caught.value.violations] == ["receipt"]
        with pytest.raises(floors.InvalidArgumentError, match="tower"):
            client.start_climb("My Tower")
        receipt, acts, second = climbed(client)
        assert second.floor is not None
        assert (second.floor.spec.number, second.climb.hero.turns) == (2, len(acts))

    async def run() -> None:
        async with AsyncClient(server) as client:
            assert (await client.get_daily()).tower == daily.tower
            assert (await client.start_climb(daily.tower)).floor == start.floor
            again = await client.submit_floor(receipt, acts)
            assert (again.floor, again.rolls) == (second.floor, second.rolls)

    asyncio.run(run())


def climbed(client: Client) -> tuple[pb.Receipt, bytes, ClimbFloor]:
    """A first floor that is climbed, and the second. In every fourth small tower the way to the stairs is free."""
    acts_of_steps = {(0, -1): 0, (-1, 0): 1, (1, 0): 2, (0, 1): 3}
    for number in range(100):
        start = client.start_climb(f"tower-{number}", width=16, height=16)
        assert start.floor is not None
        way = start.floor.path(start.floor.entry, start.floor.exit) or []
        acts = bytes(acts_of_steps[to.x - at.x, to.y - at.y] for at, to in pairwise(way))
        with suppress(floors.InvalidArgumentError):
            return start.receipt, acts, client.submit_floor(start.receipt, acts)
    pytest.fail("no way was free")


def test_asyncio(server: str) -> None:
    async def run() -> None:
        async with AsyncClient(server) as client:
            specs = [FloorSpec(45, number) for number in range(1, 33)]
            single = await asyncio.gather(*map(client.get, specs))
            batch = await client.batch(specs)
            stream = client.stream(specs[0], len(specs))
            streamed = [floor async for floor in stream]
            assert [floor.encoded for floor in single] == [floor.encoded for floor in batch]
            assert [floor.encoded for floor in streamed] == [floor.encoded for floor in batch]
            assert (await client.server_info()).max_batch == 256
            assert "tower" in [info.name for info in await client.packs()]
            assert (await client.pack("tower")).file
            with pytest.raises(floors.InvalidArgumentError, match=r"spec\.number"):
                await client.get(FloorSpec(1, 0))
            async with client.stream(specs[0], 10_000) as left:
                assert (await anext(left)).spec.number == 1

    asyncio.run(run())


@pytest.mark.parametrize(("name", "carried"), [("other", 1), ("other", 0), ("tower", 1)])
def test_a_pack_with_another_hash_than_its_files_is_refused(name: str, carried: int) -> None:
    with pytest.raises(InvalidFloorError, match="the pack has the hash"):
        calls.read_pack(pb.Pack(name=name, hash=carried, file=b"files").SerializeToString(), name)


def test_another_pack_is_refused() -> None:
    with pytest.raises(InvalidFloorError, match="instead of other"):
        calls.read_pack(pb.Pack(name="tower", file=b"files").SerializeToString(), "other")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (pb.ClimbFloor(), "floor 0 of '' instead of floor 1 of 'daily'"),
        (pb.ClimbFloor(receipt=pb.Receipt(climb=b"\x01")), "malformed"),
        (pb.ClimbFloor(receipt=receipt_of(1), rolls=bytes(16)), "it has no floor"),
        (pb.ClimbFloor(receipt=receipt_of(1), floor=VECTOR), "rolls of 0 bytes"),
        (pb.ClimbFloor(receipt=receipt_of(2), floor=VECTOR, rolls=bytes(16)), "floor 2 of 'daily'"),
        (pb.ClimbFloor(receipt=receipt_of(1), floor=VECTOR, rolls=bytes(16)), "another floor"),
    ],
)
def test_a_floor_that_is_not_of_its_receipt_is_refused(answer: pb.ClimbFloor, error: str) -> None:
    call = ClimbCall.start("daily", 0, 0, "", "")
    with pytest.raises((floors.MalformedResponseError, InvalidFloorError), match=error):
        call.read(answer.SerializeToString(), None)


def test_above_the_last_floor_is_none() -> None:
    call = ClimbCall.submit(receipt_of(1_000_000), b"")
    answer = pb.ClimbFloor(receipt=receipt_of(1_000_001))
    assert call.read(answer.SerializeToString(), None).floor is None
