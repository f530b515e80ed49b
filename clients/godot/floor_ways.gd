# Ways over a decoded floor: where a walker gets with the keys that it has, and how. A step leads to one of the four
# neighbours of a cell. All clients answer alike: docs/clients/kit.md.
#
# A cell is as in the floor, {"x": 3, "y": 4}. `keys` are the ids of the locks whose keys the walker has.
extends Reference

const FloorCodec := preload("floor_codec.gd")

const PASSABLE := [
	FloorCodec.Terrain.FLOOR, FloorCodec.Terrain.DOOR, FloorCodec.Terrain.STAIRS_UP, FloorCodec.Terrain.STAIRS_DOWN,
	FloorCodec.Terrain.SHALLOW_WATER, FloorCodec.Terrain.BRIDGE, FloorCodec.Terrain.GRASS, FloorCodec.Terrain.RUBBLE,
]
# No way leads to the cell.
const FAR := -1
const NOWHERE := -1


# Whether a walker can enter a cell; false outside the floor. Secret doors are walls.
static func passable(decoded: Dictionary, x: int, y: int, keys := []) -> bool:
	var cell := _cell(decoded, {"x": x, "y": y})
	return cell != NOWHERE and _enters(decoded, cell, keys)


# A byte for each cell, at y * width + x: 1 if the walker gets there from a cell, itself among them. All are 0 from
# outside the floor.
static func reachable(decoded: Dictionary, from: Dictionary, keys := []) -> PoolByteArray:
	var cells := PoolByteArray()
	for steps in _distances(decoded, _cell(decoded, from), NOWHERE, keys):
		cells.append(int(steps != FAR))
	return cells


# The steps of the shortest way from one cell to another; 0 to itself, -1 if there is none.
static func distance(decoded: Dictionary, from: Dictionary, to: Dictionary, keys := []) -> int:
	return path(decoded, from, to, keys).size() - 1


# The cells of the shortest way, both ends among them; empty if there is none. Of ways with as few steps it is the one
# whose first different step leads north, else west, else east.
static func path(decoded: Dictionary, from: Dictionary, to: Dictionary, keys := []) -> Array:
	var at := _cell(decoded, from)
	var end := _cell(decoded, to)
	if at == NOWHERE or end == NOWHERE or (at != end and not _enters(decoded, end, keys)):
		return []
	var left := _distances(decoded, end, at, keys)
	if left[at] == FAR:
		return []
	var cells := [_point(decoded, at)]
	while at != end:
		for next in _beside(decoded, at):
			if left[next] == left[at] - 1:
				at = next
				break
		cells.append(_point(decoded, at))
	return cells


# Cells for a party of `count`, each of its own: those nearest to the entry that everybody can reach without keys, but
# for doors and the stairs down. As near ones come row by row. Fewer if there are no more.
static func starts(decoded: Dictionary, count: int) -> Array:
	var steps := _distances(decoded, _cell(decoded, decoded.entry), NOWHERE, [])
	var ranks := []
	for cell in steps.size():
		var terrain: int = decoded.terrain[cell]
		if steps[cell] != FAR and not terrain in [FloorCodec.Terrain.DOOR, FloorCodec.Terrain.STAIRS_DOWN]:
			ranks.append(steps[cell] * steps.size() + cell)
	ranks.sort()
	var cells := []
	for i in int(min(count, ranks.size())):
		cells.append(_point(decoded, ranks[i] % steps.size()))
	return cells


static func _enters(decoded: Dictionary, cell: int, keys: Array) -> bool:
	var terrain: int = decoded.terrain[cell]
	if terrain == FloorCodec.Terrain.LOCKED_DOOR:
		for lock in decoded.locks:
			if _cell(decoded, lock.at) == cell:
				return lock.id in keys
	return terrain in PASSABLE


# The steps from a cell to every other; to the cell `also` even if nobody can enter it.
static func _distances(decoded: Dictionary, from: int, also: int, keys: Array) -> Array:
	var steps := []
	for _i in decoded.terrain.size():
		steps.append(FAR)
	var queue := []
	if from != NOWHERE:
		steps[from] = 0
		queue.append(from)
	var taken := 0
	while taken < queue.size():
		var at: int = queue[taken]
		taken += 1
		for next in _beside(decoded, at):
			if steps[next] == FAR and (next == also or _enters(decoded, next, keys)):
				steps[next] = steps[at] + 1
				queue.append(next)
	return steps


# The neighbours to the north, west, east and south.
static func _beside(decoded: Dictionary, cell: int) -> Array:
	var width: int = decoded.spec.width
	var cells := []
	if cell >= width:
		cells.append(cell - width)
	if cell % width > 0:
		cells.append(cell - 1)
	if cell % width < width - 1:
		cells.append(cell + 1)
	if cell + width < decoded.terrain.size():
		cells.append(cell + width)
	return cells


static func _cell(decoded: Dictionary, point: Dictionary) -> int:
	var width: int = decoded.spec.width
	var is_inside: bool = point.x >= 0 and point.x < width and point.y >= 0 and point.y < decoded.spec.height
	return point.y * width + point.x if is_inside else NOWHERE


static func _point(decoded: Dictionary, cell: int) -> Dictionary:
	var width: int = decoded.spec.width
	return {"x": cell % width, "y": cell / width}
