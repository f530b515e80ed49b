"""The board as a program, with a floor server that says what a test wants; FLOOR_ADDRESS names a real one."""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import grpc
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf import json_format

from board import MAX_BODY, RefusedError, Store, course_of
from floors import Client
from floors.v1 import floors_pb2 as pb

DATE, DAY_MS = "2026-11-29", 1_795_910_400_000
KEYS = {number: Ed25519PrivateKey.from_private_bytes(bytes([number] * 32)) for number in (1, 2)}
SIGNATURE = "the signature is not of this climb"


def climb(player: str = "Ada", floor: int = 3, turns: int = 400, seconds: int = 60, **changed: object) -> pb.Climb:
    """A climb of the course of `FloorServer`, but for what has changed."""
    made = pb.Climb(tower=f"{DATE}-5ea1", floor=floor, width=100, height=100, generator_version=5, rules_version=1)
    made.player, made.hero.turns = player, turns
    made.started_ms, made.reached_ms = DAY_MS, DAY_MS + seconds * 1000
    for name, value in changed.items():
        setattr(made, name, value)
    return made


def signed(climb: pb.Climb, key: int = 1) -> pb.Receipt:
    """The receipt of a climb."""
    encoded = climb.SerializeToString()
    return pb.Receipt(climb=encoded, signature=KEYS[key].sign(b"floors.v1.Receipt" + encoded), key=key)


class FloorServer(grpc.GenericRpcHandler):
    """Answers GetDaily and GetServerInfo."""

    def __init__(self) -> None:
        self.keys = [1]
        self.daily = pb.Daily(
            date=DATE, tower=f"{DATE}-5ea1", width=100, height=100, generator_version=5, rules_version=1
        )
        self._server = grpc.server(ThreadPoolExecutor(2))
        self._server.add_generic_rpc_handlers((self,))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        is_daily = details.method.endswith("/GetDaily")
        return grpc.unary_unary_rpc_method_handler(self._get_daily if is_daily else self._get_server_info)

    def stop(self) -> None:
        self._server.stop(None).wait()

    def _get_daily(self, *_: object) -> bytes:
        return self.daily.SerializeToString()

    def _get_server_info(self, *_: object) -> bytes:
        keys = [pb.ReceiptKey(id=key, public_key=KEYS[key].public_key().public_bytes_raw()) for key in self.keys]
        return pb.ServerInfo(receipt_keys=keys).SerializeToString()


class RunningBoard:
    """A board in a process of its own."""

    def __init__(self, server: str, database: Path, *options: str) -> None:
        program = Path(__file__).parents[1] / "board.py"
        command = [sys.executable, str(program), "--server", server, "--database", str(database), "--port", "0"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([*command, *options], stdout=pipe, stderr=pipe, text=True)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip().split("/")[2]

    def kill(self) -> str:
        """As `kill -9`. Returns what it wrote to the standard error since the last time."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        if self._process.stdout.closed:
            return ""
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        with self._process.stderr as errors:
            return errors.read()

    def call(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
        with closing(HTTPConnection(self.address, timeout=20)) as connection:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def post(self, receipt: pb.Receipt | bytes) -> tuple[int, Any]:
        body = json_format.MessageToJson(receipt).encode() if isinstance(receipt, pb.Receipt) else receipt
        status, text = self.call("POST", "/receipts", body)
        return status, json.loads(text)

    def scores(self, query: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.call("GET", "/scores" + query)[1])["scores"]
        return found


class BoardTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.database = Path(folder.name) / "board.sqlite"
        self.floors = FloorServer()
        self.addCleanup(self.floors.stop)
        self.board = self.start()

    def start(self, *options: str) -> RunningBoard:
        board = RunningBoard(self.floors.address, self.database, *options)
        self.addCleanup(board.kill)
        return board

    def refuses(self, status: int, text: str, receipt: pb.Receipt | bytes) -> None:
        found, answer = self.board.post(receipt)
        assert found == status, answer
        assert text in answer["error"], answer

    def keeps_soon(self, receipt: pb.Receipt) -> None:
        """The board asks the floor server once a second at most."""
        end = time.monotonic() + 10
        while (answer := self.board.post(receipt))[0] != 201:
            assert time.monotonic() < end, answer
            time.sleep(0.05)

    def test_the_best_receipt_of_each_player_is_kept(self) -> None:
        for made in [
            climb("Bob", 3, 400, 60),
            climb("Eve <b>", 3, 399, 60),
            climb("Eve <b>", 3, 399, 59),
            climb("Ada", 4, 900, 60),
            climb("Ada", 4, 800, 70),
        ]:
            answer = {"player": made.player, "floor": made.floor, "rank": 1}
            assert self.board.post(signed(made)) == (201, answer)
        for worse in (climb("Ada", 4, 800, 70), climb("Ada", 3, 1), climb("Ada", 4, 801), climb("Ada", 4, 800, 71)):
            self.refuses(409, "one of Ada that is as good", signed(worse))
        assert self.board.post(signed(climb("Zoe", 2)))[1]["rank"] == 4
        found = [(row["rank"], row["player"], row["turns"], row["elapsed_ms"]) for row in self.board.scores()]
        best = [(1, "Ada", 800, 70_000), (2, "Eve <b>", 399, 59_000), (3, "Bob", 400, 60_000), (4, "Zoe", 400, 60_000)]
        assert found == best
        status, page = self.board.call("GET", "/")
        assert status == 200
        assert "<tr><td>2<td>Eve &lt;b&gt;<td>3<td>399<td>0:00:59" in page

    def test_an_altered_receipt_is_refused(self) -> None:
        receipt = signed(climb())
        for part in ("climb", "signature"):
            right: bytes = getattr(receipt, part)
            at_each = [(right[:at], byte, right[at + 1 :]) for at, byte in enumerate(right)]
            wrong = [head + bytes([byte ^ bits]) + tail for head, byte, tail in at_each for bits in (1, 128)]
            for value in [*wrong, b"", right[1:], right[:-1], right + b"\0"]:
                altered = pb.Receipt(climb=receipt.climb, signature=receipt.signature, key=1)
                setattr(altered, part, value)
                self.refuses(400, SIGNATURE, altered)
        of_other_key = signed(climb(), 2)
        of_other_key.key = 1
        self.refuses(400, SIGNATURE, of_other_key)
        assert self.board.scores() == []
        assert self.board.post(receipt)[0] == 201

    def test_a_climb_of_another_course_is_refused(self) -> None:
        others: dict[str, Any] = {
            "tower": "mine",
            "pack": "mine@00000000000000ff",
            "generator_version": 6,
            "rules_version": 2,
        }
        for name, value in {**others, "width": 16, "height": 16}.items():
            self.refuses(400, "is not the tower of a day", signed(climb(**{name: value})))
        self.refuses(400, "no floor is climbed", signed(climb(floor=1)))
        for player in ("", " ", "é" * 33):
            self.refuses(400, "no name of 1 to 64 bytes", signed(climb(player)))
        self.refuses(400, "reached after 2026-11-29", signed(climb(seconds=86_400)))
        assert self.board.scores() == []
        assert self.board.post(signed(climb(seconds=86_399)))[0] == 201

    def test_a_new_day_and_a_new_key_are_asked_for(self) -> None:
        assert self.board.post(signed(climb()))[0] == 201
        next_day = signed(climb("Bob", tower="2026-11-30-7011", seconds=90_000), 2)
        self.refuses(400, "no key 2", next_day)
        self.floors.keys = [2, 1]
        self.floors.daily.date, self.floors.daily.tower = "2026-11-30", "2026-11-30-7011"
        self.keeps_soon(next_day)
        assert self.board.post(signed(climb("Eve")))[0] == 201
        assert [row["player"] for row in self.board.scores()] == ["Bob"]
        assert [row["player"] for row in self.board.scores("?date=2026-11-29")] == ["Ada", "Eve"]
        self.floors.daily.date, self.floors.daily.tower = "2026-12-29", "2026-12-29-0ff5"
        self.keeps_soon(signed(climb("Zoe", tower="2026-12-29-0ff5")))
        assert self.board.scores("?date=2026-11-29") == []
        assert [row["player"] for row in self.board.scores("?date=2026-11-30")] == ["Bob"]

    def test_a_board_may_have_keys_of_its_own(self) -> None:
        self.board = self.start("--key", f"2:{KEYS[2].public_key().public_bytes_raw().hex()}")
        self.refuses(400, "no key 1", signed(climb()))
        assert self.board.post(signed(climb(), 2))[0] == 201

    def test_without_a_floor_server_the_board_says_so(self) -> None:
        self.floors.stop()
        self.board = self.start()
        self.refuses(503, "the floor server does not say", signed(climb()))

    def test_what_is_no_receipt_is_refused(self) -> None:
        for body in (b"", b"{", b"7", b"\xff", b'{"climb": 7}', b'{"clim": ""}', b"[" * 4000, b"{}{}"):
            self.refuses(400, "no message floors.v1.Receipt", body)
        for body in (b"{}", b"[]"):
            self.refuses(400, "no key 0", body)
        for length in ("-1", "1e3", "", str(MAX_BODY + 1), "9" * 99):
            assert self.board.call("POST", "/receipts", None, **{"content-length": length})[0] == 413, length
        assert self.board.call("POST", "/other", b"")[0] == 404
        assert self.board.call("GET", "/other")[0] == 404

    def test_a_client_that_breaks_off_is_no_error(self) -> None:
        host, port = self.board.address.split(":")
        post = b"POST /receipts HTTP/1.1\r\ncontent-length: 9\r\n\r\n{"
        for request in (b"", b"GET /sco", b"GET /scores HTTP/1.1\r\n\r\n", post):
            for _ in range(10):
                with closing(socket.create_connection((host, int(port)))) as connection:
                    connection.sendall(request)
                    # Reset and not closed.
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.refuses(400, "no key 0", b"{}")
        assert self.board.kill() == ""

    def test_a_full_board_keeps_the_best(self) -> None:
        store = Store(str(self.database.with_name("full")), rows=3)
        store.add(course_of(climb()), DATE)
        course, _ = store.find(course_of(climb())) or self.fail("the course is not there")
        for turns in (5, 4, 3, 2):
            store.keep(course, climb(f"player {turns}", turns=turns), b"")
        with self.assertRaisesRegex(RefusedError, "3 better climbs"):  # noqa: PT027
            store.keep(course, climb("player 9", turns=9), b"")
        assert [row["turns"] for row in store.scores(None)["scores"]] == [2, 3, 4]

    def test_kill_9_loses_nothing_that_was_answered(self) -> None:
        answered: dict[str, int] = {}
        answers = threading.Semaphore(0)

        def send(board: RunningBoard, name: str) -> None:
            with suppress(OSError, HTTPException):  # the board is killed
                for turns in range(999, 0, -1):
                    player = f"{name}-{turns % 7}"
                    assert board.post(signed(climb(player, turns=turns)))[0] == 201
                    answered[player] = turns
                    answers.release()

        for kill in range(6):
            with ThreadPoolExecutor(4) as executor:
                sent = [executor.submit(send, self.board, f"{kill}-{thread}") for thread in range(4)]
                for _ in range(random.randint(20, 100)):
                    assert answers.acquire(timeout=20)
                self.board.kill()
            for each in sent:
                each.result()
            self.board = self.start()
            kept = {row["player"]: row["turns"] for row in self.board.scores()}
            for player, turns in answered.items():
                assert kept[player] <= turns, player  # one that was kept and not answered is better

    @unittest.skipUnless("FLOOR_ADDRESS" in os.environ, "FLOOR_ADDRESS names no floor server")
    def test_with_a_floor_server(self) -> None:
        self.board = RunningBoard(os.environ["FLOOR_ADDRESS"], self.database.with_name("real"))
        self.addCleanup(self.board.kill)
        with Client(os.environ["FLOOR_ADDRESS"]) as client:
            daily = client.get_daily()
            receipt = client.start_climb(daily.tower, player="Ada").receipt
        self.refuses(400, "no floor is climbed", receipt)
        receipt.signature = bytes(64)
        self.refuses(400, SIGNATURE, receipt)
        assert json.loads(self.board.call("GET", "/scores")[1])["date"] == daily.date


if __name__ == "__main__":
    unittest.main()
