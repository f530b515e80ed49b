"""Client of the floor server: procedural tower floors as NumPy arrays.

>>> from floors import Client, FloorSpec
>>> with Client("127.0.0.1:50051") as client:  # doctest: +SKIP
...     floor = client.get(FloorSpec(seed=42, number=7))
"""

from floors.aio import AsyncClient, AsyncFloorStream
from floors.client import Client, FloorStream
from floors.climb import ClimbFloor
from floors.errors import (
    AddressError,
    CallError,
    DeadlineExceededError,
    FailedPreconditionError,
    FloorsError,
    GridError,
    HashMismatchError,
    InvalidArgumentError,
    InvalidFloorError,
    MalformedResponseError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    Violation,
    WrongFloorError,
)
from floors.floor import Batch, Floor
from floors.options import CallOptions
from floors.search import Match
from floors.served import Served, TraceStep
from floors.spec import Behaviour, FloorSpec, Kind, RoomRole, Terrain, View
from floors.towers import seed
from floors.ways import Cell

__all__ = [
    "AddressError",
    "AsyncClient",
    "AsyncFloorStream",
    "Batch",
    "Behaviour",
    "CallError",
    "CallOptions",
    "Cell",
    "Client",
    "ClimbFloor",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "Floor",
    "FloorSpec",
    "FloorStream",
    "FloorsError",
    "GridError",
    "HashMismatchError",
    "InvalidArgumentError",
    "InvalidFloorError",
    "Kind",
    "MalformedResponseError",
    "Match",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "RoomRole",
    "Served",
    "Terrain",
    "TraceStep",
    "UnauthenticatedError",
    "UnavailableError",
    "View",
    "Violation",
    "WrongFloorError",
    "seed",
]
