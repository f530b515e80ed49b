"""The grid decoder against docs/protocol.md and a slow decoder that reads byte by byte."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from conftest import FLOOR_FILES
from floors import GridError
from floors.grid import decode
from floors.v1 import floors_pb2 as pb

UNIFORM, RAW8, PACKED, RLE = (
    pb.GRID_ENCODING_UNIFORM,
    pb.GRID_ENCODING_RAW8,
    pb.GRID_ENCODING_PACKED,
    pb.GRID_ENCODING_RLE,
)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([[1] * 4] * 2, "08 04 10 02 1a 01 01 20 01"),
        ([[1, 1, 2, 1], [2, 2, 1, 1]], "08 04 10 02 1a 02 01 02 20 03 28 01 32 01 34"),
        ([[1, 2, 3, 1, 2]], "08 05 10 01 1a 03 01 02 03 20 03 28 02 32 02 24 01"),
        ([[1] * 20] * 15 + [[2] * 20] * 5, "08 14 10 14 1a 02 01 02 20 04 32 05 00 ab 02 01 63"),
        ([[1] * 8] * 2 + [[1] * 4 + [2] * 4, [2] * 8], "08 08 10 04 1a 02 01 02 20 03 28 01 32 04 00 00 f0 ff"),
        (
            [[5 * row + column for column in range(5)] for row in range(4)],
            f"08 05 10 04 1a 14 {bytes(range(20)).hex()} 20 02 32 14 {bytes(range(20)).hex()}",
        ),
    ],
)
def test_the_vectors_of_the_protocol(cells: list[list[int]], message: str) -> None:
    grid = decode(pb.Grid.FromString(bytes.fromhex(message)))
    assert grid.dtype == np.uint8
    assert grid.tolist() == cells
    grid[0, 0] = 9  # the array is the program's own


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def slow_runs(data: bytes, most: int = 512 * 512) -> list[int]:
    """The indices of an RLE grid, byte by byte; too many if there are more than `most`."""
    indices: list[int] = []
    rest = iter(data)
    for index in rest:
        run = shift = 0
        for byte in rest:
            run, shift = run | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                break
        indices += [index] * min(run + 1, most + 1 - len(indices))
    return indices


@pytest.mark.parametrize("entries", [2, 17, 128, 129, 200, 256])
@pytest.mark.parametrize("longest", [3, 128, 129, 700, 20000])
def test_runs_of_any_length_and_palettes_of_any_size(entries: int, longest: int) -> None:
    source = random.Random(entries * 100_000 + longest)
    for _ in range(20):
        width, height = source.randint(1, 512), source.randint(1, 512)
        palette = sorted(source.sample(range(256), entries))
        data, left = bytearray(), width * height
        while left:
            run = min(left, source.choice([1, 2, source.randint(1, longest), 128, 129]))
            data += bytes([source.randrange(entries)]) + varint(run - 1)
            left -= run
        grid = pb.Grid(width=width, height=height, palette=palette, encoding=RLE, data=bytes(data))
        values = np.array(palette, dtype=np.uint8)[slow_runs(bytes(data))]
        assert np.array_equal(decode(grid), values.reshape(height, width))


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_packed_grids(bits: int) -> None:
    source = random.Random(bits)
    for _ in range(50):
        width, height = source.randint(1, 40), source.randint(1, 40)
        indices = [source.randrange(1 << bits) for _ in range(width * height)]
        packed = sum(index << bits * at for at, index in enumerate(indices))
        data = packed.to_bytes((len(indices) * bits + 7) // 8, "little")
        grid = pb.Grid(width=width, height=height, palette=range(3, 3 + (1 << bits)), encoding=PACKED, bits=bits)
        grid.data = data
        assert decode(grid).reshape(-1).tolist() == [index + 3 for index in indices]


@pytest.mark.parametrize("path", FLOOR_FILES, ids=lambda path: path.stem)
def test_floors_of_a_server(path: Path) -> None:
    floor = pb.Floor.FromString(path.read_bytes())
    for grid in (floor.terrain, floor.region):
        if grid.encoding == RLE:
            values = [grid.palette[index] for index in slow_runs(grid.data)]
            assert decode(grid).reshape(-1).tolist() == values
        else:
            assert decode(grid).size == grid.width * grid.height


def grid(width: int = 4, height: int = 2, palette: tuple[int, ...] = (1, 2), **fields: object) -> pb.Grid:
    return pb.Grid(width=width, height=height, palette=palette, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("malformed", "reason"),
    [
        (grid(encoding=0), "grid encoding 0 is unknown"),
        (grid(encoding=9), "grid encoding 9 is unknown"),
        (grid(width=0, encoding=RLE, data=b"\0\7"), "0x2 cells"),
        (grid(height=513, encoding=RLE, data=b"\0\7"), "4x513 cells"),
        (grid(width=2**32 - 1, height=2**32 - 1, encoding=UNIFORM, palette=(1,)), "4294967295x4294967295"),
        (grid(palette=(), encoding=RLE, data=b"\0\7"), "palette of 0 entries"),
        (grid(palette=(2, 1), encoding=RLE, data=b"\0\7"), "ascending"),
        (grid(palette=(1, 1), encoding=RLE, data=b"\0\7"), "each once"),
        (grid(palette=(1, 256), encoding=RLE, data=b"\0\7"), "up to 255"),
        (grid(palette=tuple(range(257)), encoding=RLE, data=b"\0\7"), "palette of 257 entries"),
        (grid(encoding=RLE, bits=1, data=b"\0\7"), "1 bits an index"),
        (grid(encoding=PACKED, bits=3, data=b"\0\0\0"), "3 bits an index"),
        (grid(encoding=PACKED, bits=0, data=b""), "0 bits an index"),
        (grid(encoding=PACKED, bits=1, data=b""), "exactly 8 cells"),
        (grid(encoding=PACKED, bits=1, data=b"\0\0"), "exactly 8 cells"),
        (grid(width=3, encoding=PACKED, bits=1, data=b"\x40"), "unused bits"),
        (grid(encoding=PACKED, bits=2, data=b"\2\0"), "palette index 2 in a palette of 2"),
        (grid(encoding=RAW8, data=bytes(7)), "exactly 8 cells"),
        (grid(encoding=RAW8, data=bytes(7) + b"\5"), "palette index 5 in a palette of 2"),
        (grid(encoding=UNIFORM), "a uniform grid has one"),
        (grid(palette=(1,), encoding=UNIFORM, data=b"\0"), "exactly 8 cells"),
        (grid(encoding=RLE, data=b""), "exactly 8 cells"),
        (grid(encoding=RLE, data=b"\0"), "exactly 8 cells"),
        (grid(encoding=RLE, data=b"\0\6"), "exactly 8 cells"),
        (grid(encoding=RLE, data=b"\0\x08"), "exactly 8 cells"),
        (grid(encoding=RLE, data=b"\0\7\1"), "exactly 8 cells"),
        (grid(encoding=RLE, data=b"\0\x87"), "exactly 8 cells"),
        (grid(encoding=RLE, data=b"\0\x87\x80\x80\x01"), "exactly 8 cells"),
        (grid(encoding=RLE, data=b"\0\xff\xff\x7f"), "exactly 8 cells"),
        (grid(encoding=RLE, data=b"\2\7"), "palette index 2 in a palette of 2"),
        (grid(encoding=RLE, data=b"\xff\7"), "palette index 255 in a palette of 2"),
    ],
)
def test_a_malformed_grid_is_named(malformed: pb.Grid, reason: str) -> None:
    with pytest.raises(GridError, match=reason):
        decode(malformed)


def test_random_bytes_are_decoded_like_by_the_slow_decoder_or_refused() -> None:
    source = random.Random(7)
    for _ in range(5000):
        entries = source.choice([1, 2, 130, 256])
        data = bytes(source.choice([0, 1, source.randrange(256)]) for _ in range(source.randint(0, 12)))
        cells = slow_runs(data, 512)
        width = min(512, max(1, len(cells)))
        malformed = pb.Grid(width=width, height=1, palette=range(entries), encoding=RLE, data=data)
        try:
            decoded = decode(malformed)
        except GridError:
            continue
        assert decoded.reshape(-1).tolist() == cells
