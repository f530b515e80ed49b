"""Where a walker gets, and in how many steps. A step leads to one of the four neighbours of a cell."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FAR = np.iinfo(np.int32).max
"""More steps than any way has: no way leads to the cell."""


class Cell(NamedTuple):
    """A cell of a floor, by its place in the arrays: `floor.terrain[cell.y, cell.x]`."""

    x: int
    """Column."""
    y: int
    """Row."""


def steps_from(start: Cell, enterable: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The steps from a cell to each that one can enter, and `FAR` to the others.

    Nobody needs to be able to enter the first cell.
    """
    padded = np.pad(enterable, 1)  # with a border that nobody can enter
    stride = padded.shape[1]
    beside = np.array([-stride, -1, 1, stride])
    ahead = padded.reshape(-1)
    steps = np.full(ahead.size, FAR, dtype=np.int32)
    wave = np.array([(start.y + 1) * stride + start.x + 1])
    for distance in count():
        steps[wave] = distance
        ahead[wave] = False
        near = (wave[:, np.newaxis] + beside).reshape(-1)
        wave = np.unique(near[ahead[near]])
        if not wave.size:
            break
    return steps.reshape(padded.shape)[1:-1, 1:-1]


def shortest(start: Cell, end: Cell, enterable: NDArray[np.bool_]) -> list[Cell] | None:
    """The cells of the shortest way, both ends among them; None if there is none.

    Of ways with as few steps it is the one whose first different step leads north, else west, else east.
    """
    enterable = enterable.copy()
    enterable[start.y, start.x] = True
    if not enterable[end.y, end.x]:
        return None
    left = steps_from(end, enterable)
    if left[start.y, start.x] == FAR:
        return None
    height, width = left.shape
    path = [start]
    while path[-1] != end:
        x, y = at = path[-1]
        beside = (Cell(x, y - 1), Cell(x - 1, y), Cell(x + 1, y), Cell(x, y + 1))
        inside = (cell for cell in beside if 0 <= cell.x < width and 0 <= cell.y < height)
        path.append(next(cell for cell in inside if left[cell.y, cell.x] < left[at.y, at.x]))
    return path
