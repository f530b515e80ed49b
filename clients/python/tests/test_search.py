"""Searches, against servers that answer what the test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import grpc
import pytest

import floors
from conftest import Method, ScriptedServer
from floors import AsyncClient, CallOptions, Client, FloorSpec, Kind, Match, View, seed
from floors.v1 import floors_pb2 as pb

FIRST = FloorSpec(42, 5, 48)
CONDITION = "kind == cavern && loops > 4"
Searched = Callable[..., list[Match]]


def match(tower: int, number: int, name: str = "", **fields: Any) -> pb.FloorMatch:  # noqa: ANN401, of a spec
    spec: dict[str, Any] = {"width": 48, "height": 100, "kind": Kind.CAVERN, **fields}
    return pb.FloorMatch(spec=pb.FloorSpec(seed=tower, number=number, **spec), name=pb.Text(text=name))


def page(*matches: pb.FloorMatch, then: int = 0) -> Method:
    encoded = pb.SearchFloorsResponse(matches=matches, next=then).SerializeToString()
    return lambda _request, _context: encoded


def drains(_: bytes, context: grpc.ServicerContext) -> None:
    context.abort(grpc.StatusCode.UNAVAILABLE, "for the test")


@pytest.fixture(params=[Client, AsyncClient])
def searched(request: pytest.FixtureRequest, scripted: ScriptedServer) -> Searched:
    """Searches with one of the clients, from FIRST on."""
    options = CallOptions(retries=1)

    async def run(*arguments: Any, **limit: Any) -> list[Match]:  # noqa: ANN401, those of `search`
        async with AsyncClient(scripted.address, options=options) as client:
            return [match async for match in client.search(FIRST, *arguments, **limit)]

    def search(*arguments: Any, **limit: Any) -> list[Match]:  # noqa: ANN401
        if request.param is AsyncClient:
            return asyncio.run(run(*arguments, **limit))
        with Client(scripted.address, options=options) as client:
            return list(client.search(FIRST, *arguments, **limit))

    return search


def requests(scripted: ScriptedServer) -> list[pb.SearchFloorsRequest]:
    return list(map(pb.SearchFloorsRequest.FromString, scripted.requests))


def places(found: list[Match]) -> list[tuple[int, int]]:
    return [(match.spec.seed, match.spec.number) for match in found]


def test_a_search_goes_on_page_by_page(searched: Searched, scripted: ScriptedServer) -> None:
    scripted.script = [page(match(42, 6, "The Deep"), then=256), drains, page(then=300), page(match(42, 304))]
    found = searched(300, CONDITION)
    assert found == [
        Match(FloorSpec(42, 6, 48, 100, Kind.CAVERN), "The Deep"),
        Match(FloorSpec(42, 304, 48, 100, Kind.CAVERN), ""),
    ]
    asked = pb.SearchFloorsRequest(first=FIRST.to_message(), count=300, condition=CONDITION)
    assert requests(scripted)[0] == asked
    assert [request.skip for request in requests(scripted)] == [0, 256, 256, 300]


def test_a_thousand_towers_are_asked_for_at_once(searched: Searched, scripted: ScriptedServer) -> None:
    scripted.script = [page(match(0, 5), then=256), page(match(999, 14)), page(match(1000, 5), match(seed("deep"), 5))]
    found = searched(10, CONDITION, [*range(1001), "deep"])
    assert places(found) == [(0, 5), (999, 14), (1000, 5), (seed("deep"), 5)]
    towers = [(request.seeds[0], request.seeds[-1], request.skip) for request in requests(scripted)]
    assert towers == [(0, 999, 0), (0, 999, 256), (1000, seed("deep"), 0)]


def test_no_towers_are_left_after_the_thousandth(searched: Searched, scripted: ScriptedServer) -> None:
    scripted.script = [page()]
    assert searched(10, CONDITION, iter(range(1000))) == []
    assert len(scripted.requests) == 1


def test_a_limit_ends_a_search(searched: Searched, scripted: ScriptedServer) -> None:
    scripted.script = [page(match(0, 5), match(1, 5), then=256), page(), page(match(1000, 5), match(1001, 5))]
    assert places(searched(10, CONDITION, count(), limit=3)) == [(0, 5), (1, 5), (1000, 5)]
    assert [request.limit for request in requests(scripted)] == [3, 1, 1]
    assert searched(10, CONDITION, limit=0) == []
    assert len(scripted.requests) == 3


def test_a_search_goes_no_further_than_it_is_read(scripted: ScriptedServer) -> None:
    scripted.script = [page(match(42, 5), match(42, 6), then=256)]
    with Client(scripted.address) as client:
        search = client.search(FIRST, 300, CONDITION)
        assert scripted.requests == []
        assert places([next(search), next(search)]) == [(42, 5), (42, 6)]
    assert len(scripted.requests) == 1


@pytest.mark.parametrize("then", [255, 256])
def test_a_search_that_does_not_go_on_is_malformed(searched: Searched, scripted: ScriptedServer, then: int) -> None:
    scripted.script = [page(then=256), page(then=then)]
    with pytest.raises(floors.MalformedResponseError, match=f"it goes on at {then}, where it had skipped 256 floors"):
        searched(300, CONDITION)
    assert len(scripted.requests) == 2


@pytest.mark.parametrize(
    ("found", "towers"),
    [
        (match(42, 4), []),
        (match(42, 15), []),
        (match(43, 5), []),
        (match(42, 5), [1, 2]),
        (match(42, 5, view=View.PLAYER), []),
        (match(42, 5, width=49), []),
        (pb.FloorMatch(), []),
    ],
)
def test_another_floor_is_no_match(
    searched: Searched, scripted: ScriptedServer, found: pb.FloorMatch, towers: list[int]
) -> None:
    scripted.script = [page(found)]
    with pytest.raises(floors.WrongFloorError, match="10 floors from number 5 on: the server sent another floor"):
        searched(10, CONDITION, towers)


def test_an_answer_that_does_not_decode_is_malformed(searched: Searched, scripted: ScriptedServer) -> None:
    scripted.script = [lambda _request, _context: b"\x0a\xff"]
    with pytest.raises(floors.MalformedResponseError, match="the answer to SearchFloors is malformed"):
        searched(10, CONDITION)
    scripted.script = [page(*[match(42, 5)] * 273)]
    with pytest.raises(floors.MalformedResponseError, match="more than 272 entries"):
        searched(10, CONDITION)
    many = match(42, 5)
    many.name.parts.extend([""] * (2**18 + 1))
    scripted.script = [page(many)]
    with pytest.raises(floors.MalformedResponseError, match="more than 262144 parts"):
        searched(10, CONDITION)
    scripted.script = [page(match(42, 5, kind=-1))]
    with pytest.raises(floors.InvalidFloorError, match="the spec of a match is broken: kind -1"):
        searched(10, CONDITION)


def test_an_error_ends_a_search(scripted: ScriptedServer) -> None:
    scripted.script = [page(match(42, 5), then=256), drains]
    with Client(scripted.address, options=CallOptions(retries=0)) as client:
        search = client.search(FIRST, 300, CONDITION)
        assert next(search).spec.number == 5
        with pytest.raises(floors.UnavailableError, match="SearchFloors at"):
            next(search)
        assert list(search) == []


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (((42, 5), 10, CONDITION), "is no FloorSpec"),
        ((FIRST, 10.0, CONDITION), r"count 10\.0 is no integer"),
        ((FIRST, -1, CONDITION), "count -1 is not in"),
        ((FIRST, 10, None), "condition None is no text"),
        ((FIRST, 10, CONDITION, "my dungeon"), "seeds 'my dungeon' is no list"),
        ((FIRST, 10, CONDITION, 7), "seeds 7 is no list"),
        ((FIRST, 10, CONDITION, [7, -1]), "seed -1 is not in"),
        ((FIRST, 10, CONDITION, [7, ""]), "seed '' is empty"),
    ],
)
def test_what_cannot_be_searched_is_named(scripted: ScriptedServer, arguments: tuple[Any, ...], reason: str) -> None:
    async def run() -> None:
        async with AsyncClient(scripted.address) as client:
            with pytest.raises((TypeError, ValueError), match=reason):
                client.search(*arguments)

    with Client(scripted.address) as client:
        with pytest.raises((TypeError, ValueError), match=reason):
            client.search(*arguments)
        with pytest.raises(ValueError, match="limit -1 is not in"):
            client.search(FIRST, 10, CONDITION, limit=-1)
    asyncio.run(run())
    assert scripted.requests == []
