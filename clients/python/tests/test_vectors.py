"""Every vector of proto/vectors; the README there says what a client does with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import grpc
import numpy as np
import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from xxhash import xxh3_64_hexdigest

from conftest import VECTORS, ScriptedServer
from floors import (
    CallError,
    CallOptions,
    Client,
    Floor,
    FloorSpec,
    GridError,
    HashMismatchError,
    InvalidFloorError,
    View,
    Violation,
    WrongFloorError,
    seed,
)
from floors.grid import decode
from floors.v1 import floors_pb2 as pb

MANIFEST = json.loads((VECTORS / "manifest.json").read_text())
CLASSES = {
    "protobuf": (InvalidFloorError, "content hash"),  # the hash is checked first
    "hash": (HashMismatchError, "carries content hash"),
    "missing": (InvalidFloorError, "it has no|is missing"),
    "grid": (GridError, "its (terrain|region) grid"),
    "terrain": (InvalidFloorError, "no terrain"),
    "outside": (InvalidFloorError, "outside the floor"),
    "spec": (WrongFloorError, "another floor"),
}
"""The error of a malformed floor, and a part of its message, by the class of its fault."""
GRID_CLASSES = {
    "size": "each side must be",
    "palette": "a palette of",
    "encoding": "encoding .* is unknown",
    "bits": "bits an index",
    "index": "palette index",
    "length": "do not fill exactly",
    "padding": "unused bits",
}


def vectors(name: str) -> pytest.MarkDecorator:
    """A test for each vector of a list."""
    assert MANIFEST[name]
    return pytest.mark.parametrize("vector", MANIFEST[name], ids=lambda vector: vector.get("name"))


def spec(request: str) -> FloorSpec:
    return FloorSpec.from_message(pb.GetFloorRequest.FromString(bytes.fromhex(request)).spec)


def file(path: str) -> bytes:
    return (VECTORS / path).read_bytes()


@vectors("requests")
def test_requests_encode(vector: dict[str, Any]) -> None:
    message = cast(Message, getattr(pb, vector["message"])())
    json_format.ParseDict(vector["json"], message)
    assert message.SerializeToString(deterministic=True).hex() == vector["bytes"]
    assert json_format.MessageToDict(message) == vector["json"]


@vectors("floors")
def test_floors_decode(vector: dict[str, Any]) -> None:
    floor = Floor(file(vector["bytes"]), spec(vector["request"]))
    assert (floor.spec.view == View.PLAYER) == vector["name"].startswith("players_")
    assert f"{floor.content_hash:016x}" == vector["content_hash"]
    for name, cells in (("terrain", floor.terrain), ("region", floor.region)):
        grid = getattr(floor.message, name)
        assert pb.GridEncoding.Name(grid.encoding) == vector[name]["encoding"]
        assert grid.bits == vector[name]["bits"]
        assert xxh3_64_hexdigest(cells.tobytes()) == vector[name]["cells_xxh3"]
    if "json" in vector:
        decoded = json.loads(file(vector["json"]))
        assert floor.theme == decoded["floor"].get("theme", "")
        assert floor.pack_hash == int(decoded["floor"].get("packHash", 0))
        assert json_format.MessageToDict(floor.message) == decoded["floor"]
        assert surface(floor) == surface_of_json(decoded["floor"])
        assert ["".join(f"{cell:x}" for cell in row) for row in floor.terrain] == decoded["terrain"]
        assert [row.tobytes().hex() for row in floor.region] == decoded["region"]


def surface(floor: Floor) -> tuple[object, ...]:
    """What a game shows of a floor: its name, its hook, its landmark and its first furniture."""
    landmark = None if floor.landmark is None else (floor.landmark.id, floor.landmark.name.text)
    return floor.name, floor.hook, landmark, next(iter(floor.furniture), None)


def surface_of_json(floor: dict[str, Any]) -> tuple[object, ...]:
    """The same of a floor in proto3 JSON."""

    def text(named: dict[str, Any], field: str) -> str:
        return cast(str, named.get(field, {}).get("text", ""))

    first = None
    if floor.get("furniture"):
        archetype, cell = floor["furniture"][0]["archetype"], floor["furniture"][0]["cells"][0]
        first = (archetype, cell % floor["spec"]["width"], cell // floor["spec"]["width"])
    room = floor.get("landmark", 0) - 1
    landmark = None if room < 0 else (room, text(floor["rooms"][room], "name"))
    return text(floor, "name"), text(floor, "hook"), landmark, first


@vectors("batches")
def test_batches_hold_their_floors(vector: dict[str, Any], scripted: ScriptedServer) -> None:
    scripted.script = [lambda _request, _context: file(vector["bytes"])]
    request = pb.BatchGetFloorsRequest.FromString(bytes.fromhex(vector["request"]))
    with Client(scripted.address) as client:
        floors = client.batch(map(FloorSpec.from_message, request.specs))
    assert [floor.encoded for floor in floors] == [file(f"floors/{name}.bin") for name in vector["floors"]]
    assert scripted.requests[0].hex() == vector["request"]


@vectors("grids")
def test_grids_decode(vector: dict[str, Any]) -> None:
    cells = decode(pb.Grid.FromString(bytes.fromhex(vector["bytes"])))
    assert cells.dtype == np.uint8
    assert cells.shape == (vector["height"], vector["width"])
    assert xxh3_64_hexdigest(cells.tobytes()) == vector["cells_xxh3"]
    assert cells.tobytes().hex() == vector.get("cells", cells.tobytes().hex())


@vectors("malformed_grids")
def test_malformed_grids_are_rejected(vector: dict[str, Any]) -> None:
    grid = pb.Grid.FromString(bytes.fromhex(vector["bytes"]))
    with pytest.raises(GridError, match=GRID_CLASSES[vector["error"]]):
        decode(grid)


@vectors("malformed_floors")
def test_malformed_floors_are_rejected(vector: dict[str, Any]) -> None:
    requested = spec(vector["request"]) if "request" in vector else None
    error, message = CLASSES[vector["error"]]
    with pytest.raises(error, match=message):
        Floor(file(vector["bytes"]), requested)


@vectors("ways")
def test_ways(vector: dict[str, Any]) -> None:
    floor = Floor(file(f"floors/{vector['floor']}.bin"))
    start, end, keys = tuple(vector["from"]), tuple(vector["to"]), vector["keys"]
    assert xxh3_64_hexdigest(floor.reachable(start, keys).tobytes()) == vector["reachable_xxh3"]
    path = vector["path"] and [tuple(cell) for cell in vector["path"]]
    assert floor.path(start, end, keys) == path
    assert floor.distance(start, end, keys) == (None if path is None else len(path) - 1)
    assert floor.starts(6) == [tuple(cell) for cell in vector["starts"]]


@vectors("seeds")
def test_seeds(vector: dict[str, Any]) -> None:
    if vector["seed"] is None:
        for read in (seed, lambda text: FloorSpec(text, 1)):
            with pytest.raises(ValueError, match=r"^seed .* write "):
                read(vector["text"])
    else:
        assert seed(vector["text"]) == FloorSpec(vector["text"], 1).seed == int(vector["seed"])


@vectors("statuses")
def test_statuses_have_their_details(vector: dict[str, Any], scripted: ScriptedServer) -> None:
    def fail(_request: bytes, context: grpc.ServicerContext) -> None:
        context.set_trailing_metadata((("grpc-status-details-bin", bytes.fromhex(vector["bytes"])),))
        context.abort(next(code for code in grpc.StatusCode if code.value[0] == vector["code"]), vector["message"])

    scripted.script = [fail]
    with Client(scripted.address, options=CallOptions(retries=0)) as client, pytest.raises(CallError) as caught:
        client.get(FloorSpec(1, 1))
    assert (caught.value.code.value[0], caught.value.message) == (vector["code"], vector["message"])
    assert caught.value.violations == tuple(Violation(**violation) for violation in vector.get("violations", ()))
    retry_after = vector.get("retry_after_ms")
    assert caught.value.retry_after == (None if retry_after is None else pytest.approx(retry_after / 1000))


def test_every_file_is_a_vector() -> None:
    lists = (MANIFEST[name] for name in ("floors", "batches", "malformed_floors"))
    named = {vector["bytes"] for vectors in lists for vector in vectors}
    assert named == {str(Path(path).relative_to(VECTORS)) for path in VECTORS.glob("*/*.bin")}
