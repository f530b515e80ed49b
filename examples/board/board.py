#!/usr/bin/env python3
"""Keeps the best verified climbs of each day's tower, and shows them. README.md says how to run it."""

from __future__ import annotations

import argparse
import html
import json
import re
import socket
import sqlite3
import threading
import time
from contextlib import suppress
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from google.protobuf import json_format
from google.protobuf.message import DecodeError

from floors import CallOptions, Client, FloorsError
from floors.v1 import floors_pb2 as pb

CONTEXT = b"floors.v1.Receipt"  # signatures are over this and the climb
MAX_BODY = 4096  # of a receipt in JSON, in bytes
MAX_PLAYER = 64  # of a name, in bytes
MAX_ROWS = 1000  # players on the board of a day; the worst make room
MAX_THREADS = 128  # a connection has two; one beyond is closed at once
CONNECTION_SECONDS = 10  # then a connection is closed, whatever it does
KEPT_DAYS = 30
MIN_ASK_SECONDS = 1  # between two looks at the floor server
MAX_ASK_SECONDS = 60

SCHEMA = """
CREATE TABLE IF NOT EXISTS courses (
    id INTEGER PRIMARY KEY, date TEXT, tower TEXT, pack TEXT, generator_version INTEGER, rules_version INTEGER,
    width INTEGER, height INTEGER, UNIQUE (tower, pack, generator_version, rules_version, width, height));
CREATE TABLE IF NOT EXISTS scores (
    course INTEGER REFERENCES courses ON DELETE CASCADE, player TEXT, floor INTEGER, turns INTEGER, elapsed_ms INTEGER,
    receipt BLOB, PRIMARY KEY (course, player));
CREATE VIEW IF NOT EXISTS ranks AS SELECT *, row_number() OVER (
    PARTITION BY course ORDER BY floor DESC, turns, elapsed_ms, player) AS rank FROM scores;
"""
FIND_COURSE = """SELECT id, date FROM courses
    WHERE (tower, pack, generator_version, rules_version, width, height) = (?,?,?,?,?,?)"""
KEEP_BETTER = """INSERT INTO scores VALUES (?,?,?,?,?,?) ON CONFLICT DO UPDATE SET floor = excluded.floor,
    turns = excluded.turns, elapsed_ms = excluded.elapsed_ms, receipt = excluded.receipt
    WHERE (excluded.floor, -excluded.turns, -excluded.elapsed_ms) > (floor, -turns, -elapsed_ms)"""
DROP_WORST = """DELETE FROM scores
    WHERE course = ?1 AND player IN (SELECT player FROM ranks WHERE course = ?1 AND rank > ?2)"""
FIND_SCORES = """SELECT rank, player, floor, turns, elapsed_ms FROM ranks JOIN courses ON id = course
    WHERE date = ? ORDER BY id, rank"""

Course = tuple[str, str, int, int, int, int]


class RefusedError(Exception):
    """What was sent is not kept, for a reason and with a status of HTTP."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def course_of(of: pb.Climb | pb.Daily) -> Course:
    """What climbs that are compared have in common."""
    return of.tower, of.pack, of.generator_version, of.rules_version, of.width, of.height


class Store:
    """The courses and their best receipts. What a method has done survives a kill, and the loss of power."""

    def __init__(self, path: str, rows: int = MAX_ROWS) -> None:
        self._rows = rows
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path, check_same_thread=False)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.executescript(SCHEMA)

    def add(self, course: Course, date: str) -> None:
        """Add the course of a day, and forget those of long ago."""
        oldest = datetime.fromisoformat(date) - timedelta(days=KEPT_DAYS)
        with self._lock, self._database as transaction:
            transaction.execute("INSERT OR IGNORE INTO courses VALUES (NULL,?,?,?,?,?,?,?)", (date, *course))
            transaction.execute("DELETE FROM courses WHERE date <= ?", (oldest.date().isoformat(),))

    def find(self, course: Course) -> tuple[int, str] | None:
        """The id of a course, and its day."""
        with self._lock:
            found: tuple[int, str] | None = self._database.execute(FIND_COURSE, course).fetchone()
        return found

    def keep(self, course: int, climb: pb.Climb, receipt: bytes) -> int:
        """Keep a receipt that is better than the player's last, and than the worst of a full board. Its rank."""
        row = (climb.player, climb.floor, climb.hero.turns, climb.reached_ms - climb.started_ms, receipt)
        with self._lock, self._database as transaction:
            if transaction.execute(KEEP_BETTER, (course, *row)).rowcount == 0:
                raise RefusedError(409, f"the board has this receipt, or one of {climb.player} that is as good")
            transaction.execute(DROP_WORST, (course, self._rows))
            query = "SELECT rank FROM ranks WHERE course = ? AND player = ?"
            kept: tuple[int] | None = transaction.execute(query, (course, climb.player)).fetchone()
            if kept is None:
                raise RefusedError(409, f"the board has {self._rows} better climbs")
        return kept[0]

    def scores(self, date: str | None) -> dict[str, Any]:
        """The scores of a day, the best first; without a date of the last."""
        with self._lock:
            if date is None:
                (date,) = self._database.execute("SELECT max(date) FROM courses").fetchone()
            rows = self._database.execute(FIND_SCORES, (date,)).fetchall()
        names = ("rank", "player", "floor", "turns", "elapsed_ms")
        return {"date": date, "scores": [dict(zip(names, row, strict=True)) for row in rows]}


class Board:
    """Verifies receipts. Asks the floor server for its keys and for the tower of the day."""

    def __init__(self, store: Store, server: Client, keys: dict[int, Ed25519PublicKey]) -> None:
        """`keys` are those of receipts by their ids; without any the server is asked."""
        self.store, self._server, self._keys = store, server, keys
        self._asks_keys = not keys
        self._asking = threading.Lock()
        self._next_ask = time.monotonic()

    def refresh(self) -> None:
        """Ask the floor server, unless it was asked just now."""
        with self._asking:
            if time.monotonic() < self._next_ask:
                return
            try:
                daily = self._server.get_daily()
                if self._asks_keys:
                    found = self._server.server_info().receipt_keys
                    self._keys = {key.id: Ed25519PublicKey.from_public_bytes(key.public_key) for key in found}
                self.store.add(course_of(daily), daily.date)
                self._next_ask = time.monotonic() + MIN_ASK_SECONDS
            except (FloorsError, ValueError) as error:
                raise RefusedError(
                    503, f"the floor server does not say what the tower of the day is: {error}"
                ) from error

    def follow(self) -> None:
        """Ask again and again, so that the board knows each day even if nobody sends a receipt on it."""
        while True:
            try:
                self.refresh()
            except RefusedError as error:
                print(error, flush=True)
            time.sleep(MAX_ASK_SECONDS)

    def keep(self, body: bytes) -> dict[str, Any]:
        """Keep the receipt in a body, and say what it is."""
        try:
            receipt = json_format.Parse(body, pb.Receipt())
        except (json_format.ParseError, ValueError, RecursionError) as error:
            raise RefusedError(400, "the body is no message floors.v1.Receipt in JSON") from error
        climb = self._verified(receipt)
        if climb.floor < 2:
            raise RefusedError(400, "no floor is climbed")
        if not climb.player.strip() or len(climb.player.encode()) > MAX_PLAYER:
            raise RefusedError(400, f"the player has no name of 1 to {MAX_PLAYER} bytes: give StartClimb one")
        rank = self.store.keep(self._course(climb), climb, receipt.SerializeToString())
        return {"player": climb.player, "floor": climb.floor, "rank": rank}

    def _verified(self, receipt: pb.Receipt) -> pb.Climb:
        if receipt.key not in self._keys and self._asks_keys:
            self.refresh()
        if receipt.key not in self._keys:
            raise RefusedError(400, f"the floor server has no key {receipt.key}")
        try:
            self._keys[receipt.key].verify(receipt.signature, CONTEXT + receipt.climb)
            return pb.Climb.FromString(receipt.climb)
        except (InvalidSignature, DecodeError) as error:
            raise RefusedError(400, "the signature is not of this climb and this key") from error

    def _course(self, climb: pb.Climb) -> int:
        """The id of the course of a climb, which must be of a day, and have come so far on it."""
        found = self.store.find(course_of(climb))
        if found is None:
            self.refresh()
            found = self.store.find(course_of(climb))
        if found is None:
            raise RefusedError(400, f"{climb.tower} of these sides and versions is not the tower of a day")
        course, date = found
        end = datetime.fromisoformat(f"{date}T00:00+00:00") + timedelta(days=1)
        if climb.reached_ms >= end.timestamp() * 1000:
            raise RefusedError(400, f"floor {climb.floor} was reached after {date}")
        return course


class Handler(BaseHTTPRequestHandler):
    """`POST /receipts`, `GET /scores` and `GET /`, one request a connection."""

    server: Server

    def do_POST(self) -> None:
        """Keep a receipt."""
        length = self.headers.get("content-length", "")
        if urlsplit(self.path).path != "/receipts":
            self._answer(404, {"error": "receipts are posted to /receipts"})
        elif not re.fullmatch("[0-9]{1,9}", length) or int(length) > MAX_BODY:
            self._answer(413, {"error": f"the request does not say that it has at most {MAX_BODY} bytes"})
        else:
            try:
                self._answer(201, self.server.board.keep(self.rfile.read(int(length))))
            except RefusedError as error:
                self._answer(error.status, {"error": str(error)})

    def do_GET(self) -> None:
        """Show a day, the last unless the query has `date=2026-11-29`."""
        url = urlsplit(self.path)
        scores = self.server.board.store.scores(parse_qs(url.query).get("date", [None])[0])
        if url.path == "/scores":
            self._answer(200, scores)
        elif url.path == "/":
            self._answer(200, page(**scores))
        else:
            self._answer(404, {"error": "there are / and /scores"})

    def _answer(self, status: int, content: dict[str, Any] | str) -> None:
        kind, text = ("text/html", content) if isinstance(content, str) else ("application/json", json.dumps(content))
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", f"{kind}; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        """Answer the request, unless the client has gone."""
        with suppress(ConnectionError, TimeoutError):
            super().handle()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def page(date: str | None, scores: list[dict[str, Any]]) -> str:
    """The scores of a day in HTML."""
    title = f"The best climbs of {html.escape(date or 'no day yet')}"
    rows = "".join(
        f"<tr><td>{row['rank']}<td>{html.escape(row['player'])}<td>{row['floor']}<td>{row['turns']}"
        f"<td>{timedelta(seconds=row['elapsed_ms'] // 1000)}\n"
        for row in scores
    )
    table = f"<table><tr><th><th>player<th>floor<th>turns<th>time\n{rows}</table>"
    return f"<!doctype html><title>{title}</title><h1>{title}</h1>\n{table}\n"


class Server(ThreadingHTTPServer):
    """A thread for each connection, of which there is a bounded number for a bounded time."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], board: Board) -> None:
        super().__init__(address, Handler)
        self.board = board

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, as the base class
        """Start the thread of a connection."""
        if threading.active_count() < MAX_THREADS:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Serve a connection, and end it in time."""
        end = threading.Timer(CONNECTION_SECONDS, request.shutdown, [socket.SHUT_RDWR])
        end.start()
        super().process_request_thread(request, client_address)
        end.cancel()


def key(text: str) -> tuple[int, Ed25519PublicKey]:
    """A key as `floorctl info` prints it, ID:HEX."""
    number, _, public = text.partition(":")
    return int(number), Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))


def main() -> None:
    """Run the board until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--server", default="127.0.0.1:50051", help="the floor server")
    parser.add_argument("--token", help="for the floor server, if it asks for one")
    parser.add_argument("--key", type=key, action="append", default=[], help="ID:HEX; instead of the server's keys")
    parser.add_argument("--port", type=int, default=8090, help="of this machine, where the board listens")
    parser.add_argument("--database", default="board.sqlite", help="a file")
    options = parser.parse_args()
    client = Client(options.server, token=options.token, options=CallOptions(deadline=3))
    board = Board(Store(options.database), client, dict(options.key))
    server = Server(("127.0.0.1", options.port), board)
    threading.Thread(target=board.follow, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}/", flush=True)
    with suppress(KeyboardInterrupt):
        server.serve_forever()


if __name__ == "__main__":
    main()
