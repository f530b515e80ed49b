"""The synchronous client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import replace
from types import TracebackType
from typing import Any

import grpc

from floors import calls
from floors.climb import ClimbCall, ClimbFloor, read_daily
from floors.connection import Connection, Pem
from floors.errors import from_rpc_error, no_floor
from floors.floor import Batch, Floor
from floors.options import CallOptions, Token
from floors.retry import Retry
from floors.search import Match, Search
from floors.served import Served
from floors.spec import FloorSpec
from floors.v1 import floors_pb2 as pb
from floors.watch import Watch


class Client:
    """A client of one floor server, over one connection that it opens with its first call. Threads can share it."""

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
        """Prepare a connection to `http://host:port`, `https://host:port`, or `host:port`, which means the former.

        Without a port it is 50051, and 443 with TLS.

        Args:
            address: The address of the server.
            options: Deadlines, retries and the like.
            ca: Trusted authorities, instead of those that gRPC brings along.
            cert: The client certificate, if the server asks for one. PEM, like `ca` and `key`: a path, or bytes.
            key: The private key of `cert`.
            server_name: The name in the server's certificate, if it is not the host of the address.
            token: Sent as a bearer token with every call. A function is called for each attempt.
            allow_plaintext_token: Allows a token over `http://` to another machine.

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
            self._channel = grpc.insecure_channel(connection.target, connection.channel_options)
        else:
            self._channel = grpc.secure_channel(connection.target, connection.credentials, connection.channel_options)
        self._unary: dict[str, Any] = {rpc: self._channel.unary_unary(calls.path(rpc)) for rpc in calls.UNARY}
        self._stream: Any = self._channel.unary_stream(calls.path(calls.STREAM))

    def with_options(self, **changes: Any) -> Client:  # noqa: ANN401, the fields of CallOptions
        """A client over the same connection with other options: `client.with_options(trace=True)`.

        Closing either closes the connection.
        """
        other = copy(self)
        other.options = replace(self.options, **changes)
        return other

    def get(self, spec: FloorSpec) -> Floor:
        """One floor.

        Raises:
            CallError: The call failed.
            InvalidFloorError: The response is not the requested floor.
        """
        encoded, metadata = self._call(calls.GET, calls.get_request(spec))
        return calls.read_floor(encoded, spec, metadata)

    def batch(self, specs: Iterable[FloorSpec]) -> Batch:
        """1 to 256 floors of any towers and sizes, in the order of `specs`. The call returns all of them or fails.

        Raises:
            CallError: The call failed.
            InvalidFloorError: A floor is not the requested one.
            MalformedResponseError: The response has another number of floors.
        """
        specs = list(specs)
        encoded, metadata = self._call(calls.BATCH, calls.batch_request(specs))
        return calls.read_batch(encoded, specs, metadata)

    def stream(self, first: FloorSpec, count: int) -> FloorStream:
        """`count` consecutive floors of one tower, in order, as fast as the program reads them.

        The call starts with the first floor that is read. It resumes after the last received floor if the connection
        breaks or the server drains.
        """
        return FloorStream(self._open, self._connection, self.options, first, count)

    def search(
        self,
        first: FloorSpec,
        count: int,
        condition: str,
        seeds: Iterable[int | str] = (),
        *,
        limit: int | None = None,
    ) -> Iterator[Match]:
        """The floors that meet a condition, in order, among `count` consecutive floors of each tower.

        A call gives the matches of a part of the range. The next one is made when they are read. The deadline is that
        of each call.

        Args:
            first: The first floor. Its number, size, kind, pack and view hold for all towers.
            count: The floors of each tower.
            condition: Such as "kind == cavern && loops > 4"; docs/floorctl.md has the language.
            seeds: The towers, as numbers or texts, read 1,000 at a time; without any that of `first`.
            limit: The most matches. None: no limit.

        Raises:
            CallError: A call failed. The search has ended.
            InvalidFloorError: A match is none of the floors that were asked for.
            MalformedResponseError: A response does not decode, or does not go on.
        """
        return self._search(Search(first, count, condition, seeds, limit))

    def server_info(self) -> pb.ServerInfo:
        """Version, limits and tier statistics of the server.

        Raises:
            CallError: The call failed.
            MalformedResponseError: The response does not decode.
        """
        return calls.read_info(self._call(calls.INFO, b"")[0])

    def packs(self) -> list[pb.PackInfo]:
        """The packs that the server has, in all versions that it holds.

        Raises:
            CallError: The call failed.
            MalformedResponseError: The response does not decode.
        """
        return calls.read_packs(self._call(calls.PACKS, b"")[0])

    def pack(self, name: str = "") -> pb.Pack:
        """The files of a pack: NAME, NAME@HASH, or nothing for the server's default.

        Raises:
            CallError: The call failed.
            InvalidFloorError: The response is not the requested pack, or has another hash than its files.
            MalformedResponseError: The response does not decode.
        """
        return calls.read_pack(self._call(calls.PACK, calls.pack_request(name))[0], name)

    def start_climb(
        self, tower: str, *, width: int = 0, height: int = 0, pack: str = "", player: str = ""
    ) -> ClimbFloor:
        """Begin a climb of a sealed tower: its first floor.

        Args:
            tower: 1 to 64 lowercase letters, digits, "-", "_" or ".", such as `get_daily().tower`.
            width: The sides of every floor in cells; 0 for those of the pack.
            height: As the width.
            pack: NAME, or NAME@HASH for one version; empty for the server's default.
            player: Who climbs, as the receipts will say, at most 64 bytes. The server does not check it.

        Raises:
            CallError: The call failed.
            InvalidFloorError: The response holds another floor, or a damaged one.
            MalformedResponseError: The response does not decode, or is of another climb.
        """
        return self._reveal(ClimbCall.start(tower, width, height, pack, player))

    def submit_floor(self, receipt: pb.Receipt, acts: bytes) -> ClimbFloor:
        """The next floor, for the acts that lead to the stairs of the floor that came with the receipt.

        Each act is a byte, as SubmitFloorRequest lists them, and a floor takes at most 10,000. A receipt may be
        submitted again.

        Raises:
            CallError: The call failed. An InvalidArgumentError says which act is impossible.
            InvalidFloorError: As for `start_climb`, like MalformedResponseError.
            ValueError: The receipt holds no climb.
        """
        return self._reveal(ClimbCall.submit(receipt, acts))

    def get_daily(self) -> pb.Daily:
        """The sealed tower of the day.

        Raises:
            CallError: The call failed.
            MalformedResponseError: The response does not decode.
        """
        return read_daily(self._call(calls.DAILY, b"")[0])

    def close(self) -> None:
        """Close the connection. Calls that are open end with an error."""
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, rpc: str, request: bytes) -> tuple[bytes, calls.ResponseMetadata]:
        """Make a call with retries. Waits as long as the server asks."""
        retry = self.options.retry(self._connection.reached)
        while True:
            metadata = self.options.metadata(self._connection.token)
            try:
                response, call = self._unary[rpc].with_call(request, timeout=retry.remaining(), metadata=metadata)
            except grpc.RpcError as error:
                failure = from_rpc_error(rpc, self._connection.server, error)
            else:
                retry.progressed()
                return response, call.initial_metadata()
            time.sleep(retry.wait_after(failure))

    def _reveal(self, call: ClimbCall) -> ClimbFloor:
        return call.read(*self._call(call.rpc, call.request))

    def _search(self, search: Search) -> Iterator[Match]:
        for request in search.requests():
            yield from search.read(self._call(calls.SEARCH, request)[0])

    def _open(self, request: bytes, timeout: float | None) -> Any:  # noqa: ANN401, a call and an iterator in one
        return self._stream(request, timeout=timeout, metadata=self.options.metadata(self._connection.token))


class FloorStream(Iterator[Floor]):
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
        self._watch = Watch(self.close)
        self._finished = False

    def __next__(self) -> Floor:
        """The next floor.

        Raises:
            CallError: The call failed. The stream has ended.
            InvalidFloorError: The floor is not the next of the tower.
            MalformedResponseError: The stream has too many or too few floors.
        """
        if self._finished:
            raise StopIteration
        try:
            encoded = self._receive()
            if encoded is not None:
                return self._progress.read(encoded)
            self._progress.finish()
            served = Served.from_metadata(self._call.trailing_metadata())
            self.served = served.with_unknown(self._progress.unknown)
        except BaseException:
            self.close()
            raise
        self.close()
        raise StopIteration

    def close(self) -> None:
        """End the stream early. The server stops as well."""
        self._finished = True
        if self._call is not None:
            self._call.cancel()
        self._watch.close()

    def __enter__(self) -> FloorStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _receive(self) -> bytes | None:
        """The next message, None at the end."""
        if self._retry is None:
            self._retry = self._options.stream_retry(self._reached)
        while True:
            if self._call is None:
                self._call = self._start(self._progress.request(), self._retry.remaining())
                self._watch = Watch(self._call.cancel)
            floor_timeout = self._retry.floor_timeout(self._options.deadline)
            try:
                with self._watch.wait(floor_timeout):
                    encoded: bytes | None = next(self._call, None)
            except grpc.RpcError as error:
                if self._progress.is_complete:  # all floors are here, and only the trailers are lost
                    return None
                late = self._watch.expired
                failure = (
                    no_floor(self._server, floor_timeout) if late else from_rpc_error(calls.STREAM, self._server, error)
                )
            else:
                if encoded is not None:
                    self._retry.progressed()
                return encoded
            self._watch.close()
            self._call = None
            time.sleep(self._retry.wait_after(failure))
