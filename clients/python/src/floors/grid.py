"""The grid decoder: NumPy arrays from the four encodings of docs/protocol.md.

Only runs over 128 cells take a step of the interpreter each; all other work is done by bytes methods and NumPy.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from floors.errors import GridError
from floors.v1 import floors_pb2 as pb

Cells: TypeAlias = NDArray[np.uint8]

MAX_SIDE = 512
_LONGEST_PALETTE = 256
_BYTES = bytes(range(256))
_ZEROS = bytes(256)
_UNIFORM = int(pb.GRID_ENCODING_UNIFORM)
_RAW8 = int(pb.GRID_ENCODING_RAW8)
_PACKED = int(pb.GRID_ENCODING_PACKED)
_RLE = int(pb.GRID_ENCODING_RLE)
_UINT8 = np.dtype(np.uint8)
_INT8 = np.dtype(np.int8)
_INTP = np.dtype(np.intp)
_sum = np.add.reduce


def decode(grid: pb.Grid) -> Cells:
    """The cells of `grid`: a new array of `height` rows and `width` columns, so cell (x, y) is `array[y, x]`.

    Allocates nothing if a side exceeds 512 cells.

    Raises:
        GridError: The data do not fill exactly `width * height` cells, or fields contradict each other.
    """
    width, height, encoding, data = grid.width, grid.height, int(grid.encoding), grid.data
    if not (1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        raise GridError(f"a grid of {width}x{height} cells: each side must be 1 ..= {MAX_SIDE}")
    cells = width * height
    palette = _palette(grid)
    if encoding != _PACKED and grid.bits != 0:
        raise GridError(f"{grid.bits} bits an index: a packed grid has 1, 2 or 4, any other 0")
    if encoding == _RLE:
        values = _runs(data, palette, cells)
    elif encoding == _PACKED:
        values = _packed(data, palette, cells, grid.bits)
    elif encoding == _RAW8:
        values = _raw(data, palette, cells)
    elif encoding == _UNIFORM:
        values = _uniform(data, palette, cells)
    else:
        raise GridError(f"grid encoding {encoding} is unknown")
    return values.reshape(height, width)


def _palette(grid: pb.Grid) -> bytes:
    entries = len(grid.palette)
    try:
        palette = bytes(grid.palette) if 0 < entries <= _LONGEST_PALETTE else b""
    except ValueError:  # a value over 255
        palette = b""
    if not palette or bytes(sorted(set(palette))) != palette:
        raise GridError(
            f"a palette of {entries} entries: it must hold 1 ..= 256 values up to 255, ascending, each once"
        )
    return palette


def _uniform(data: bytes, palette: bytes, cells: int) -> Cells:
    if len(palette) != 1:
        raise GridError(f"a palette of {len(palette)} entries: a uniform grid has one")
    if data:
        raise _length(cells)
    return np.full(cells, palette[0], dtype=_UINT8)


def _raw(data: bytes, palette: bytes, cells: int) -> Cells:
    if len(data) != cells:
        raise _length(cells)
    return _cells(_values(bytearray(data), palette))


def _packed(data: bytes, palette: bytes, cells: int, bits: int) -> Cells:
    if bits not in (1, 2, 4):
        raise GridError(f"{bits} bits an index: a packed grid has 1, 2 or 4, any other 0")
    if len(data) != (cells * bits + 7) // 8:
        raise _length(cells)
    packed = np.frombuffer(data, _UINT8)
    shifts = np.arange(0, 8, bits, dtype=_UINT8)
    indices = (packed[:, np.newaxis] >> shifts & ((1 << bits) - 1)).reshape(-1)
    if indices[cells:].any():
        raise GridError("unused bits after the last cell are not zero")
    return _cells(_values(bytearray(indices[:cells]), palette))


def _runs(data: bytes, palette: bytes, cells: int) -> Cells:
    """Decode pairs of a palette index and a run's length - 1 as a varint.

    Nearly all varints have one byte. Longer ones are found by their first byte: one with the high bit, an odd number of
    bytes after the last pair that was found. The other bytes then are pairs of two bytes each.
    """
    long_runs: list[tuple[int, int]] = []
    pieces: list[bytes] = []
    pair = removed = kept = 0  # the start of a pair; bytes cut out so far; the start of what is not yet in `pieces`
    for at in (np.frombuffer(data, _INT8) < 0).nonzero()[0].tolist():
        if at < pair or not (at - pair) & 1:  # in a varint that is already read, or a palette index over 127
            continue
        tail = data[at : at + 3]
        if len(tail) > 1 and tail[1] < 0x80:
            size, length = 2, tail[0] & 0x7F | tail[1] << 7
        elif len(tail) > 2 and tail[2] < 0x80:  # three bytes hold 21 bits, and no run is longer than 512 * 512 cells
            size, length = 3, tail[0] & 0x7F | (tail[1] & 0x7F) << 7 | tail[2] << 14
        else:
            raise _length(cells)
        long_runs.append(((at - removed) >> 1, length))
        pieces.append(data[kept : at + 1])
        pair = kept = at + size
        removed += size - 1
    if pieces:
        pieces.append(data[kept:])
        data = b"".join(pieces)
    if len(data) & 1:
        raise _length(cells)
    lengths = np.frombuffer(data[1::2], _UINT8).astype(_INTP)
    for run, length in long_runs:
        lengths[run] = length
    lengths += 1
    if _sum(lengths) != cells:
        raise _length(cells)
    return _cells(_values(data[0::2], palette)).repeat(lengths)


def _values(indices: bytes | bytearray, palette: bytes) -> bytes | bytearray:
    """The values of palette indices."""
    beyond = indices.translate(None, _BYTES[: len(palette)])
    if beyond:
        raise GridError(f"palette index {beyond[0]} in a palette of {len(palette)}")
    return indices.translate(palette + _ZEROS[len(palette) :])


def _cells(values: bytes | bytearray) -> Cells:
    """An array over `values`, which can be written if they can."""
    return np.frombuffer(values, _UINT8)


def _length(cells: int) -> GridError:
    return GridError(f"grid data do not fill exactly {cells} cells")
