"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from copy import copy
from dataclasses import replace
from types import TracebackType
from typing import Any

import grpc
import grpc.aio

from floors import calls
from floors.climb import ClimbCall, ClimbFloor, read_daily
from floors.connection import Connection, Pem
from floors.errors import CallError, from_rpc_error, no_floor
from floors.floor import Batch, Floor
from floors.options import CallOptions, Token
from floors.retry import Retry
from floors.search import Match, Search
from floors.served import Served
from floors.spec import FloorSpec
from floors.v1 import floors_pb2 as pb


class AsyncClient:
    """A client of one floor server for asyncio, over one connection that it opens with its first call.

    Create it where the event loop runs. It has the methods of `Client`. Floors are decoded on the event loop.
    """

    def __init__(
        self,
        address: str,
        *,
        options: CallOptions | None = None,
        ca: Pem | None = None,
        cert: Pem | None = None,
        key: Pem | None = None,
        server_name: str | None = None,
        token: Token | None = None,
        allow_plaintext_token: bool = False,
    ) -> None:
        """Prepare a connection; the arguments are those of `Client`.

        Raises:
            AddressError: The address is none, or an option does not fit it.
            OSError: A file cannot be read.
        """
        self._connection = connection = Connection.new(
            address,
            ca=ca,
            cert=cert,
            key=key,
            server_name=server_name,
            token=token,
            allow_plaintext_token=allow_plaintext_token,
        )
        self.options = options or CallOptions()
        """The options of all calls."""
        if connection.credentials is None:
            self._channel = grpc.aio.insecure_channel(connection.target, connection.channel_options)
        else:
            self._channel = grpc.aio.secure_channel(
                connection.target, connection.credentials, connection.channel_options
            )
        self._unary: dict[str, Any] = {rpc: self._channel.unary_unary(calls.path(rpc)) for rpc in calls.UNARY}
        self._stream: Any = self._channel.unary_stream(calls.path(calls.STREAM))

    def with_options(self, **changes: Any) -> AsyncClient:  # noqa: ANN401, the fields of CallOptions
        """A client over the same connection with other options."""
        other = copy(self)
        other.options = replace(self.options, **changes)
        return other

    async def get(self, spec: FloorSpec) -> Floor:
        """One floor; errors are those of `Client.get`."""
        encoded, metadata = await self._call(calls.GET, calls.get_request(spec))
        return calls.read_floor(encoded, spec, metadata)

    async def batch(self, specs: Iterable[FloorSpec]) -> Batch:
        """1 to 256 floors, in the order of `specs`; errors are those of `Client.batch`."""
        specs = list(specs)
        encoded, metadata = await self._call(calls.BATCH, calls.batch_request(specs))
        return calls.read_batch(encoded, specs, metadata)

    def stream(self, first: FloorSpec, count: int) -> AsyncFloorStream:
        """`count` consecutive floors of one tower, for `async for`; see `Client.stream`."""
        return AsyncFloorStream(self._open, self._connection, self.options, first, count)

    def search(
        self,
        first: FloorSpec,
        count: int,
        condition: str,
        seeds: Iterable[int | str] = (),
        *,
        limit: int | None = None,
    ) -> AsyncIterator[Match]:
        """The floors that meet a condition, for `async for`; see `Client.search`."""
        return self._search(Search(first, count, condition, seeds, limit))

    async def server_info(self) -> pb.ServerInfo:
        """Version, limits and tier statistics of the server."""
        return calls.read_info((await self._call(calls.INFO, b""))[0])

    async def packs(self) -> list[pb.PackInfo]:
        """The packs that the server has, in all versions that it holds."""
        return calls.read_packs((await self._call(calls.PACKS, b""))[0])

    async def pack(self, name: str = "") -> pb.Pack:
        """The files of a pack: NAME, NAME@HASH, or nothing for the server's default."""
        return calls.read_pack((await self._call(calls.PACK, calls.pack_request(name)))[0], name)

    async def start_climb(
        self, tower: str, *, width: int = 0, height: int = 0, pack: str = "", player: str = ""
    ) -> ClimbFloor:
        """Begin a climb of a sealed tower; see `Client.start_climb`."""
        return await self._reveal(ClimbCall.start(tower, width, height, pack, player))

    async def submit_floor(self, receipt: pb.Receipt, acts: bytes) -> ClimbFloor:
        """The next floor of a climb; see `Client.submit_floor`."""
        return await self._reveal(ClimbCall.submit(receipt, acts))

    async def get_daily(self) -> pb.Daily:
        """The sealed tower of the day."""
        return read_daily((await self._call(calls.DAILY, b""))[0])

    async def close(self) -> None:
        """Close the connection. Calls that are open end with an error."""
        await self._channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _call(self, rpc: str, request: bytes) -> tuple[bytes, calls.ResponseMetadata]:
        """Make a call with retries. Waits as long as the server asks."""
        retry = self.options.retry(self._connection.reached)
        while True:
            metadata = self.options.metadata(self._connection.token)
            call = self._unary[rpc](request, timeout=retry.remaining(), metadata=metadata)
            try:
                response, headers = await call, await call.initial_metadata()
            except grpc.RpcError as error:
                failure = from_rpc_error(rpc, self._connection.server, error)
            else:
                retry.progressed()
                return response, headers
            await asyncio.sleep(retry.wait_after(failure))

    async def _reveal(self, call: ClimbCall) -> ClimbFloor:
        return call.read(*await self._call(call.rpc, call.request))

    async def _search(self, search: Search) -> AsyncIterator[Match]:
        for request in search.requests():
            for match in search.read((await self._call(calls.SEARCH, request))[0]):
                yield match

    def _open(self, request: bytes, timeout: float | None) -> Any:  # noqa: ANN401, a call and an iterator in one
        return self._stream(request, timeout=timeout, metadata=self.options.metadata(self._connection.token))


class AsyncFloorStream(AsyncIterator[Floor]):
    """Floors of one tower in order, each decoded and checked on arrival."""

    def __init__(
        self,
        start: Callable[[bytes, float | None], Any],
        connection: Connection,
        options: CallOptions,
        first: FloorSpec,
        count: int,
    ) -> None:
        self.served = Served()
        """How the server answered, after the last floor. Floors from before it was resumed count as `unknown`."""
        self._start = start
        self._server = connection.server
        self._reached = connection.reached
        self._options = options
        self._progress = calls.Progress(first, count)
        self._retry: Retry | None = None
        self._call: Any = None
        self._finished = False

    async def __anext__(self) -> Floor:
        """The next floor; errors are those of `FloorStream`."""
        if self._finished:
            raise StopAsyncIteration
        try:
            encoded = await self._receive()
            if encoded is not None:
                return self._progress.read(encoded)
            self._progress.finish()
            served = Served.from_metadata(await self._call.trailing_metadata())
            self.served = served.with_unknown(self._progress.unknown)
        except BaseException:
            self.close()
            raise
        self._finished = True
        raise StopAsyncIteration

    def close(self) -> None:
        """End the stream early. The server stops as well."""
        self._finished = True
        if self._call is not None:
            self._call.cancel()

    async def __aenter__(self) -> AsyncFloorStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def _receive(self) -> bytes | None:
        """The next message, None at the end."""
        if self._retry is None:
            self._retry = self._options.stream_retry(self._reached)
        failure: CallError
        while True:
            if self._call is None:
                self._call = self._start(self._progress.request(), self._retry.remaining())
            floor_timeout = self._retry.floor_timeout(self._options.deadline)
            try:
                encoded = await asyncio.wait_for(self._call.read(), floor_timeout)
            except asyncio.TimeoutError:
                failure = no_floor(self._server, floor_timeout)
            except grpc.RpcError as error:
                if self._progress.is_complete:  # all floors are here, and only the trailers are lost
                    return None
                failure = from_rpc_error(calls.STREAM, self._server, error)
            else:
                if isinstance(encoded, bytes):
                    self._retry.progressed()
                    return encoded
                return None
            self._call = None
            await asyncio.sleep(self._retry.wait_after(failure))
