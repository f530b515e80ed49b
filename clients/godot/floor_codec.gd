# Encodes requests and decodes answers of proto/floors/v1/floors.proto.
extends Reference

const FloorSeed := preload("floor_seed.gd")
const Protobuf := preload("protobuf.gd")
const Xxh3 := preload("xxh3.gd")

# What of a floor is sent: everything, or what a player may know on arrival.
enum View {EVERYTHING, PLAYER}
enum Kind {SCHEDULED, STANDARD, KEEP, HALLS, CAVERN, CYCLIC, MAZE, BOSS, EVENT, STORY}
enum Terrain {
	UNSPECIFIED, WALL, FLOOR, DOOR, LOCKED_DOOR, SECRET_DOOR, STAIRS_UP, STAIRS_DOWN, SHALLOW_WATER, DEEP_WATER, LAVA,
	CHASM, BRIDGE, GRASS, RUBBLE, PILLAR,
}
enum Role {UNSPECIFIED, ENTRY, EXIT, COMBAT, TREASURE, KEY, SHRINE, SHOP, BOSS, VAULT, SECRET, PASSAGE}
# What a monster does until it notices a player. Treat an unknown one as GUARDS.
enum Behaviour {UNSPECIFIED, SLEEPS, GUARDS, PATROLS, WANDERS}
enum Encoding {UNIFORM = 1, RAW8, PACKED, RLE}

const SPEC := {
	1: ["seed", Protobuf.UINT], 2: ["number", Protobuf.UINT], 3: ["width", Protobuf.UINT],
	4: ["height", Protobuf.UINT], 5: ["kind", Protobuf.UINT], 6: ["pack", Protobuf.TEXT],
	7: ["view", Protobuf.UINT],
}
const POINT := {1: ["x", Protobuf.UINT], 2: ["y", Protobuf.UINT]}
const GRID := {
	1: ["width", Protobuf.UINT], 2: ["height", Protobuf.UINT], 3: ["palette", Protobuf.PACKED],
	4: ["encoding", Protobuf.UINT], 5: ["bits", Protobuf.UINT], 6: ["data", Protobuf.BYTES],
}
# A text, and the ids with which a game says it in another language.
const TEXT := {
	1: ["text", Protobuf.TEXT], 2: ["id", Protobuf.TEXT], 3: ["parts", Protobuf.TEXT, Protobuf.REPEATED],
}
const ROOM := {
	1: ["id", Protobuf.UINT], 2: ["min", POINT], 3: ["max", POINT], 4: ["role", Protobuf.UINT], 5: ["center", POINT],
	6: ["name", TEXT],
}
# One can walk over furniture unless the terrain of its cell is PILLAR. Treat an unknown archetype as decoration.
const FURNITURE := {1: ["archetype", Protobuf.TEXT], 2: ["cells", Protobuf.PACKED]}
const CONNECTION := {
	1: ["from_room", Protobuf.UINT], 2: ["to_room", Protobuf.UINT], 3: ["lock_id", Protobuf.UINT],
	4: ["secret", Protobuf.BOOL],
}
const SPAWN := {
	1: ["at", POINT], 2: ["archetype", Protobuf.TEXT], 3: ["level", Protobuf.UINT], 4: ["behaviour", Protobuf.UINT],
	5: ["group", Protobuf.UINT],
}
const TRAP := {1: ["at", POINT], 2: ["archetype", Protobuf.TEXT], 3: ["level", Protobuf.UINT]}
const ITEM := {
	1: ["at", POINT], 2: ["archetype", Protobuf.TEXT], 3: ["value", Protobuf.UINT], 4: ["opens_lock", Protobuf.UINT],
}
const LOCK := {1: ["id", Protobuf.UINT], 2: ["at", POINT]}
const METRICS := {
	1: ["critical_path", Protobuf.UINT], 2: ["passable_cells", Protobuf.UINT], 3: ["loops", Protobuf.UINT],
	4: ["difficulty", Protobuf.UINT],
}
const CONTENT_HASH := 3
const FLOOR := {
	1: ["spec", SPEC], 2: ["generator_version", Protobuf.UINT], CONTENT_HASH: ["content_hash", Protobuf.FIXED64],
	4: ["terrain", GRID], 5: ["region", GRID], 6: ["entry", POINT], 7: ["exit", POINT],
	8: ["rooms", ROOM, Protobuf.REPEATED], 9: ["connections", CONNECTION, Protobuf.REPEATED],
	10: ["spawns", SPAWN, Protobuf.REPEATED], 11: ["items", ITEM, Protobuf.REPEATED],
	12: ["locks", LOCK, Protobuf.REPEATED], 13: ["metrics", METRICS], 14: ["traps", TRAP, Protobuf.REPEATED],
	15: ["theme", Protobuf.TEXT], 16: ["pack_hash", Protobuf.FIXED64], 17: ["landing", POINT],
	18: ["name", TEXT], 19: ["hook", TEXT], 20: ["landmark", Protobuf.UINT],
	21: ["furniture", FURNITURE, Protobuf.REPEATED],
}
const DAILY := {
	1: ["tower", Protobuf.TEXT], 2: ["date", Protobuf.TEXT], 3: ["seconds_left", Protobuf.UINT],
	4: ["pack", Protobuf.TEXT], 5: ["generator_version", Protobuf.UINT], 6: ["rules_version", Protobuf.UINT],
	7: ["width", Protobuf.UINT], 8: ["height", Protobuf.UINT],
}
const START_CLIMB_REQUEST := {
	1: ["tower", Protobuf.TEXT], 2: ["width", Protobuf.UINT], 3: ["height", Protobuf.UINT], 4: ["pack", Protobuf.TEXT],
	5: ["player", Protobuf.TEXT],
}
const RECEIPT := {1: ["climb", Protobuf.BYTES], 2: ["signature", Protobuf.BYTES], 3: ["key", Protobuf.UINT]}
const SUBMIT_FLOOR_REQUEST := {1: ["receipt", RECEIPT], 2: ["acts", Protobuf.BYTES]}
# With the bytes of the floor, over which its hash is.
const CLIMB_FLOOR := {1: ["receipt", RECEIPT], 2: ["floor", Protobuf.BYTES], 3: ["rolls", Protobuf.BYTES]}
const HERO := {
	1: ["health", Protobuf.UINT], 2: ["most_health", Protobuf.UINT], 3: ["attack", Protobuf.UINT],
	4: ["armour", Protobuf.UINT], 5: ["gold", Protobuf.UINT], 6: ["potions", Protobuf.UINT], 7: ["slain", Protobuf.UINT],
	8: ["turns", Protobuf.UINT],
}
const CLIMB := {
	1: ["tower", Protobuf.TEXT], 2: ["floor", Protobuf.UINT], 3: ["width", Protobuf.UINT], 4: ["height", Protobuf.UINT],
	5: ["pack", Protobuf.TEXT], 6: ["generator_version", Protobuf.UINT], 7: ["rules_version", Protobuf.UINT],
	8: ["tenant", Protobuf.TEXT], 9: ["player", Protobuf.TEXT], 10: ["hero", HERO], 11: ["started_ms", Protobuf.UINT],
	12: ["reached_ms", Protobuf.UINT], 13: ["acts_hash", Protobuf.BYTES],
}
const MAX_FLOOR := 1000000
const ROLLS_BYTES := 16
const MAX_SIDE := 512
# The greatest integer of which a float has every smaller one, too.
const MAX_EXACT := 9007199254740991.0
# A floor has two grids and two points at least.
const MIN_FLOOR_BYTES := 17
const PROBLEMS := {
	"protobuf": "the bytes are no floor",
	"hash": "the content hash is not that of the bytes",
	"missing": "a field that every floor has is missing",
	"grid": "a grid does not decode, or has another size than the floor",
	"terrain": "a cell holds no terrain",
	"outside": "a point lies outside the floor",
	"spec": "the server sent another floor",
}

# What the last call of decode_floor or decode_climb_floor found wrong: a key of PROBLEMS, or "".
var problem := ""
var _xxh3 := Xxh3.new()


# What cannot be sent as it was meant: a number that is none or that was rounded, and a name that is no field. Empty if all
# can. JSON has only floats in Godot; those below 2^53 are exact.
static func problem_of_request(spec: Dictionary) -> String:
	var names := PoolStringArray()
	for field in SPEC.values():
		names.append(field[0])
	for name in spec:
		if not str(name) in names:
			return "%s is no field of a spec; there are %s" % [name, names.join(", ")]
		var value = spec[name]
		if name == "pack":
			if typeof(value) != TYPE_STRING or value.length() > 49 or value.to_ascii().get_string_from_ascii() != value:
				return "pack is %s: write NAME or NAME@HASH" % [value]
			continue
		if name == "seed" and typeof(value) == TYPE_STRING:
			var reason := FloorSeed.problem_of(value)
			if reason != "":
				return "seed is \"%s\": %s" % [value, reason]
			continue
		match typeof(value):
			TYPE_INT:
				pass
			TYPE_REAL:
				if value != floor(value) or abs(value) > MAX_EXACT:
					return "%s is the float %s: write an integer" % [name, value]
			TYPE_STRING:
				if str(int(value)) != value:
					return "%s is \"%s\": write an integer" % [name, value]
			_:
				return "%s is %s: write an integer" % [name, value]
		if name != "seed" and (int(value) < 0 or int(value) > 0xFFFFFFFF):
			return "%s is %s: write an integer from 0 to 4294967295" % [name, value]
	return ""


# The bytes of a GetFloorRequest.
static func encode_request(spec: Dictionary) -> PoolByteArray:
	var numbers := {"pack": str(spec.get("pack", ""))}
	for field in SPEC.values():
		if field[1] == Protobuf.UINT:
			numbers[field[0]] = _integer(spec, field[0])
	return Protobuf.encode({1: ["spec", SPEC]}, {"spec": numbers})


# A seed may be a text that names a tower.
static func _integer(spec: Dictionary, name: String) -> int:
	var value = spec.get(name, 0)
	return FloorSeed.seed_of(value) if name == "seed" and typeof(value) == TYPE_STRING else int(value)


# What is wrong with the options of start_climb. Empty if nothing is.
static func problem_of_climb(options: Dictionary) -> String:
	var spec := {}
	for name in options:
		if name == "player":
			if typeof(options.player) != TYPE_STRING:
				return "player is %s: write a text" % [options.player]
		elif name in ["width", "height", "pack"]:
			spec[name] = options[name]
		else:
			return "%s is no option of a climb; there are width, height, pack, player" % name
	return problem_of_request(spec)


# The same for a receipt.
static func problem_of_receipt(receipt: Dictionary) -> String:
	for name in ["climb", "signature"]:
		if typeof(receipt.get(name)) != TYPE_RAW_ARRAY:
			return "the receipt has no bytes in %s: submit that of climb_received" % name
	return ""


# The bytes of a StartClimbRequest.
static func encode_start(tower: String, options: Dictionary) -> PoolByteArray:
	var request := {"tower": tower, "pack": options.get("pack", ""), "player": options.get("player", "")}
	for name in ["width", "height"]:
		request[name] = _integer(options, name)
	return Protobuf.encode(START_CLIMB_REQUEST, request)


# The bytes of a SubmitFloorRequest.
static func encode_submit(receipt: Dictionary, acts: PoolByteArray) -> PoolByteArray:
	return Protobuf.encode(SUBMIT_FLOOR_REQUEST, {"receipt": receipt, "acts": acts})


# What a receipt says. Its signature is not checked.
static func climb_of(receipt: Dictionary) -> Dictionary:
	return Protobuf.new(receipt.climb).message(CLIMB)


# A receipt as `floorctl receipt verify` and boards read it.
static func receipt_json(receipt: Dictionary) -> String:
	var texts := {"key": receipt.key}
	for name in ["climb", "signature"]:
		texts[name] = Marshalls.raw_to_base64(receipt[name])
	return JSON.print(texts)


# The ClimbFloor in these bytes, which must have floor `number` of a tower: its receipt, what that says as `climb`, the
# floor as decode_floor returns it, and the seed of its rolls in 16 bytes. There is no floor above the last: then it is
# empty. Empty if it is wrong; `problem` says why.
func decode_climb_floor(encoded: PoolByteArray, tower: String, number: int) -> Dictionary:
	var reader := Protobuf.new(encoded)
	var revealed := reader.message(CLIMB_FLOOR)
	problem = "protobuf" if reader.failed else ("missing" if revealed.receipt == null else "")
	if problem != "":
		return {}
	reader = Protobuf.new(revealed.receipt.climb)
	var climb := reader.message(CLIMB)
	revealed["climb"] = climb
	if reader.failed or climb.hero == null:
		problem = "protobuf"
	elif climb.tower != tower or climb.floor != number:
		problem = "spec"
	elif revealed.floor.size() == 0 and number > MAX_FLOOR:
		revealed.floor = {}
	elif revealed.rolls.size() != ROLLS_BYTES:
		problem = "missing"
	else:
		# Without a name it would be any pack.
		var pack: String = "tower" if climb.pack == "" else climb.pack
		var asked := {"seed": 0, "number": number, "width": climb.width, "height": climb.height, "pack": pack}
		revealed.floor = decode_floor(revealed.floor, asked)
	return revealed if problem == "" else {}


# The floor in the bytes of a Floor, by the names of the .proto; `terrain` and `region` are cells, at y * width + x. The
# cells of furniture are such indices, and not the differences of the .proto. What has no name has the name null.
# Checks the hash, the grids, the points, and that it is the floor `asked` for. Empty if it is not; `problem` says why.
func decode_floor(encoded: PoolByteArray, asked := {}) -> Dictionary:
	var reader := Protobuf.new(encoded)
	var decoded := reader.message(FLOOR)
	problem = "protobuf" if reader.failed else _problem(decoded, reader.without(CONTENT_HASH), asked)
	return decoded if problem == "" else {}


# Decodes the grids, too.
func _problem(decoded: Dictionary, hashed: Dictionary, asked: Dictionary) -> String:
	if hashed.found != 1 or hashed.bytes.size() < MIN_FLOOR_BYTES or _xxh3.hash64(hashed.bytes) != decoded.content_hash:
		return "hash"
	var spec = decoded.spec
	if spec == null or decoded.terrain == null or decoded.region == null:
		return "missing"
	for name in ["terrain", "region"]:
		var grid: Dictionary = decoded[name]
		decoded[name] = decode_grid(grid) if grid.width == spec.width and grid.height == spec.height else PoolByteArray()
		if decoded[name].size() == 0:
			return "grid"
		# Palettes are ascending.
		if name == "terrain" and grid.palette[0] == Terrain.UNSPECIFIED:
			for cell in decoded.terrain:
				if cell == Terrain.UNSPECIFIED:
					return "terrain"
	# Floors before generator version 4 have none.
	if decoded.landing == null:
		decoded.landing = decoded.entry
	var points := [decoded.entry, decoded.exit, decoded.landing]
	for room in decoded.rooms:
		points += [room.min, room.max, room.center]
	for thing in decoded.spawns + decoded.items + decoded.locks + decoded.traps:
		points.append(thing.at)
	if points.has(null):
		return "missing"
	for point in points:
		if point.x < 0 or point.x >= spec.width or point.y < 0 or point.y >= spec.height:
			return "outside"
	for kind in decoded.furniture:
		var cell := 0
		for i in kind.cells.size():
			cell += kind.cells[i]
			if kind.cells[i] < 0 or cell >= spec.width * spec.height:
				return "outside"
			kind.cells[i] = cell
	var pack := str(asked.get("pack", ""))
	var sent: String = spec.pack
	if not pack in ["", sent, "tower" if sent == "" else sent.split("@")[0]]:
		return "spec"
	if asked and spec.view != _integer(asked, "view"):
		return "spec"
	for name in asked:
		if name == "pack":
			continue
		var wanted := _integer(asked, name)
		if spec[name] != wanted and (wanted != 0 or name in ["seed", "number"]):
			return "spec"
	return ""


# The values of the cells of a Grid, row by row; empty if it is malformed.
static func decode_grid(grid: Dictionary) -> PoolByteArray:
	var malformed := PoolByteArray()
	var palette: Array = grid.palette
	var packed: bool = grid.encoding == Encoding.PACKED
	if grid.width < 1 or grid.width > MAX_SIDE or grid.height < 1 or grid.height > MAX_SIDE:
		return malformed
	if palette.size() < 1 or palette.size() > 256 or palette[0] < 0 or palette[palette.size() - 1] > 255:
		return malformed
	for i in range(1, palette.size()):
		if palette[i] <= palette[i - 1]:
			return malformed
	if packed != (grid.bits in [1, 2, 4]) or (not packed and grid.bits != 0):
		return malformed
	var cells := PoolByteArray()
	cells.resize(grid.width * grid.height)
	match grid.encoding:
		Encoding.UNIFORM:
			return _fill(cells, palette[0]) if grid.data.size() == 0 and palette.size() == 1 else malformed
		Encoding.RAW8:
			return _unpack(grid.data, palette, cells, 8)
		Encoding.PACKED:
			return _unpack(grid.data, palette, cells, grid.bits)
		Encoding.RLE:
			return _runs(grid.data, palette, cells)
	return malformed


static func _fill(cells: PoolByteArray, value: int) -> PoolByteArray:
	for i in cells.size():
		cells[i] = value
	return cells


static func _unpack(data: PoolByteArray, palette: Array, cells: PoolByteArray, bits: int) -> PoolByteArray:
	var per_byte := 8 / bits
	var mask := (1 << bits) - 1
	var entries := palette.size()
	if data.size() != (cells.size() + per_byte - 1) / per_byte:
		return PoolByteArray()
	var used := cells.size() % per_byte
	if used != 0 and data[data.size() - 1] >> (used * bits) != 0:
		return PoolByteArray()
	for i in cells.size():
		var index: int = (data[i / per_byte] >> (i % per_byte * bits)) & mask
		if index >= entries:
			return PoolByteArray()
		cells[i] = palette[index]
	return cells


static func _runs(data: PoolByteArray, palette: Array, cells: PoolByteArray) -> PoolByteArray:
	var filled := 0
	var at := 0
	while at < data.size():
		var index: int = data[at]
		var length := 0
		var shift := 0
		while true:
			at += 1
			# Three bytes hold every length of a run.
			if at >= data.size() or shift > 14:
				return PoolByteArray()
			length |= (data[at] & 0x7F) << shift
			shift += 7
			if data[at] < 0x80:
				break
		at += 1
		if index >= palette.size() or length >= cells.size() - filled:
			return PoolByteArray()
		var value: int = palette[index]
		for i in range(filled, filled + length + 1):
			cells[i] = value
		filled += length + 1
	return cells if filled == cells.size() else PoolByteArray()
