"""The examples of the documents run, from top to bottom, against a real server."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import FLOOR_FILES
from floors import Floor

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "document",
    [
        "docs/clients/python.md",
        "docs/protocol.md",
        "README.md",
        "clients/python/README.md",
        "clients/python-gen/README.md",
    ],
)
def test_examples(server: str, document: str) -> None:
    variables: dict[str, Any] = {}
    for block in python_blocks(document):
        if "floor_gen." in block and importlib.util.find_spec("floor_gen") is None:
            continue
        code = block.replace("127.0.0.1:50051", server)
        exec(compile(code, document, "exec"), variables)  # noqa: S102


def test_the_examples_of_the_page_have_right_types(tmp_path: Path) -> None:
    """As a program with strict checks: mypy is a part of the extra `lint`."""
    pytest.importorskip("mypy")
    with_generator = importlib.util.find_spec("floor_gen") is not None
    blocks = (block for block in python_blocks("docs/clients/python.md") if with_generator or "floor_gen" not in block)
    program = tmp_path / "page.py"
    program.write_text("".join(blocks))
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", str(program)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def python_blocks(document: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)


def test_the_sample_of_the_protocol_agrees_with_the_package() -> None:
    samples: dict[str, Any] = {}
    for block in python_blocks("docs/protocol.md"):
        exec(compile(block, "docs/protocol.md", "exec"), samples)  # noqa: S102
    for vector in FLOOR_FILES:
        floor = Floor(vector.read_bytes())
        assert samples["content_hash"](floor.encoded) == (floor.content_hash, floor.content_hash)
