"""The address of a server, and what a channel to it needs: certificates, a token, limits."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TypeAlias
from urllib.parse import SplitResult, urlsplit

import grpc

from floors.errors import AddressError
from floors.options import Token

Pem: TypeAlias = str | os.PathLike[str] | bytes
"""The path of a PEM file, or its content as bytes."""

_MAX_RESPONSE_BYTES = 16 * 1024 * 1024
"""More than a batch of 256 floors takes; gRPC's own limit is 4 MiB."""
_RECONNECT_MS = 100
"""First wait before a new connection, the least that gRPC allows. Its own is 1 s, longer than several attempts."""
_MAX_RECONNECT_MS = 500
"""Short, because it is not the only wait: meanwhile gRPC fails calls at once, and they wait until they are repeated."""
_CONNECT_MS = 3000
"""Time to connect, no longer than a server is awaited that was never reached. The channel's option has another name:
gRPC also waits no shorter between attempts that time out."""
_PING_AFTER_MS = 10_000
_PING_TIMEOUT_MS = 5000
"""A connection with open calls that is silent for so long is tested, and closed if it does not answer in time."""
_PORTS = {"http": 50051, "https": 443}
"""Ports of addresses without one."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A checked address with its credentials."""

    server: str
    """As given, for messages."""
    target: str
    """host:port"""
    credentials: grpc.ChannelCredentials | None
    channel_options: tuple[tuple[str, str | int], ...]
    token: Token | None
    reached: Event = field(default_factory=Event)
    """Whether the server ever answered."""

    @classmethod
    def new(
        cls,
        address: str,
        *,
        ca: Pem | None,
        cert: Pem | None,
        key: Pem | None,
        server_name: str | None,
        token: Token | None,
        allow_plaintext_token: bool,
    ) -> Connection:
        """Check the address and the options, and read the files.

        Raises:
            AddressError: The address is none, or an option does not fit it.
            OSError: A file cannot be read.
        """
        url = _split(address)
        tls = url.scheme == "https"
        host = url.hostname or ""
        if not tls and any(option is not None for option in (ca, cert, key, server_name)):
            raise AddressError(
                f"{address} is a server without TLS, and ca, cert, key and server_name are for TLS; "
                "write https://host:port"
            )
        if (cert is None) != (key is None):
            raise AddressError("a client certificate needs both cert and key")
        if token is not None and not tls and not allow_plaintext_token and not _is_loopback(host):
            raise AddressError(
                f"whoever can read the network on the way to {address} could read the token; "
                "write https://host:port, or allow it (allow_plaintext_token=True)"
            )
        options: list[tuple[str, str | int]] = [
            ("grpc.max_receive_message_length", _MAX_RESPONSE_BYTES),
            ("grpc.initial_reconnect_backoff_ms", _RECONNECT_MS),
            ("grpc.min_reconnect_backoff_ms", _CONNECT_MS),
            ("grpc.max_reconnect_backoff_ms", _MAX_RECONNECT_MS),
            ("grpc.keepalive_time_ms", _PING_AFTER_MS),
            ("grpc.keepalive_timeout_ms", _PING_TIMEOUT_MS),
            ("grpc.http2.max_pings_without_data", 0),
        ]
        if server_name is not None:
            options.append(("grpc.ssl_target_name_override", server_name))
        literal = f"[{host}]" if ":" in host else host
        return cls(
            server=address,
            target=f"{literal}:{url.port or _PORTS[url.scheme]}",
            credentials=grpc.ssl_channel_credentials(_pem(ca), _pem(key), _pem(cert)) if tls else None,
            channel_options=tuple(options),
            token=token,
        )


def _split(address: str) -> SplitResult:
    foreign = next((char for char in address.strip() if not (char.isascii() and char.isprintable())), None)
    if foreign is not None:
        raise AddressError(f"{_shown(address)} is no server address: it has {foreign!a}, which no address has")
    try:
        url = urlsplit(address if "://" in address else f"http://{address}")
        port = url.port
    except ValueError:
        # The error has a part of the address.
        raise AddressError(f"{_shown(address)} is no server address: write http://host:port") from None
    if url.scheme not in _PORTS:
        raise AddressError(f"{_shown(address)} is no server address: write http://host:port or https://host:port")
    if not url.hostname or port == 0 or url.path not in ("", "/") or url.query or url.fragment or "@" in address:
        raise AddressError(f"{_shown(address)} is no server address: write {url.scheme}://host:port and nothing else")
    return url


def _shown(address: str) -> str:
    """What is printed of an address that cannot be used: no more than its scheme, since it may hold a password."""
    scheme, separator, _ = address.partition("://")
    return repr(f"{scheme}://***" if separator and scheme.isalpha() else "***")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _pem(source: Pem | None) -> bytes | None:
    if source is None or isinstance(source, bytes):
        return source
    return Path(source).read_bytes()
