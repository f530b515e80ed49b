"""The committed messages are those of floors.proto."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]


def test_the_messages_are_current(tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools", reason="needs the extra `generate`")
    wanted = "1.74.0"
    if metadata.version("grpcio-tools") != wanted:
        pytest.skip(f"the compiler is not grpcio-tools {wanted}")
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable}
    subprocess.run([PACKAGE / "scripts" / "generate", tmp_path], check=True, env=environment)
    for name in ("floors_pb2.py", "floors_pb2.pyi"):
        committed = (PACKAGE / "src" / "floors" / "v1" / name).read_text()
        assert (tmp_path / "floors" / "v1" / name).read_text() == committed, "run scripts/generate"


def test_the_messages_have_the_fields_of_the_proto() -> None:
    """Needs no compiler, and so runs everywhere: every field and value of the .proto, by name and number."""
    proto = PACKAGE.parents[1] / "proto" / "floors" / "v1" / "floors.proto"
    file = import_module("floors.v1.floors_pb2").DESCRIPTOR
    compiled = {
        f"{field.name} = {field.number};" for each in file.message_types_by_name.values() for field in each.fields
    }
    compiled |= {
        f"{value.name} = {value.number};" for each in file.enum_types_by_name.values() for value in each.values
    }
    lines = (line.strip() for line in proto.read_text().splitlines() if not line.strip().startswith("option "))
    written = {line.split(maxsplit=line.count(" ") - 2)[-1] for line in lines if line.endswith(";") and " = " in line}
    written.discard('= "proto3";')
    assert {entry for entry in written if not entry.startswith("syntax")} == compiled
