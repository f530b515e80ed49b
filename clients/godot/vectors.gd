# Checks the client with the test vectors, and prints how fast it decodes:
# godot3-server --path clients/godot -s vectors.gd FOLDER, such as /path/to/proto/vectors
extends SceneTree

const FloorClient := preload("floor_client.gd")
const FloorCodec := preload("floor_codec.gd")
const FloorSeed := preload("floor_seed.gd")
const FloorWays := preload("floor_ways.gd")
const Protobuf := preload("protobuf.gd")
const Xxh3 := preload("xxh3.gd")

var _folder := ""
var _checked := 0
var _wrong := 0
var _codec := FloorCodec.new()
var _xxh3 := Xxh3.new()


func _init() -> void:
	for argument in OS.get_cmdline_args():
		if argument.ends_with("vectors"):
			_folder = argument
	var manifest: Dictionary = JSON.parse(_read("manifest.json").get_string_from_utf8()).result
	for vector in manifest.requests:
		if vector.message == "GetFloorRequest":
			var spec: Dictionary = vector.json.spec
			spec["seed"] = _integer(spec.get("seed", "0"))
			spec["kind"] = _enum_value(FloorCodec.Kind, spec.get("kind", "SCHEDULED"))
			spec["view"] = _enum_value(FloorCodec.View, spec.get("view", "EVERYTHING"))
			_check(vector.name, _hex(FloorCodec.encode_request(spec)) == vector.bytes)
	for vector in manifest.floors:
		_check_floor(vector)
	_check_ways(manifest)
	for vector in manifest.seeds:
		_check_seed(vector)
	for vector in manifest.grids:
		var cells := _grid(vector)
		_check(vector.name, _hex(cells) == vector.cells if vector.has("cells") else _hash(cells) == vector.cells_xxh3)
	for vector in manifest.malformed_grids:
		_check(vector.name, _grid(vector).size() == 0)
	for vector in manifest.malformed_floors:
		var decoded := _codec.decode_floor(_read(vector.bytes), _asked(vector) if vector.has("request") else {})
		_check(vector.name, decoded.size() == 0 and _codec.problem == vector.error)
	var reader := Protobuf.new(PoolByteArray([0x0a, 1, 0xff]))
	_check("a text that is no UTF-8", reader.message({1: ["text", Protobuf.TEXT]}).text == "" and reader.failed)
	_check_requests()
	_check_climbs()
	_print_speed()
	print("%d vectors, %d wrong" % [_checked, _wrong])
	quit(1 if _wrong > 0 or _checked == 0 else 0)


# A row for each value that JSON, a text field or a typing error makes of a number or a name.
func _check_requests() -> void:
	for spec in [
		{"seed": 42, "number": 7}, {"seed": 42.0, "number": 7.0}, {"seed": "42", "number": 7}, {"seed": -1, "number": 7},
		{"seed": 9007199254740991.0, "number": 7}, {"number": 7, "kind": 6, "pack": "mine@00000000000000ff"}, {},
		{"seed": " 42", "number": 7}, {"seed": "my dungeon", "number": 7, "view": 1},
	]:
		_check(str(spec), FloorCodec.problem_of_request(spec) == "")
	for row in [
		["seed", 42.5], ["seed", 9007199254740992.0], ["seed", 1e300], ["seed", NAN], ["seed", true], ["seed", null],
		["seed", "e\u0301"], ["seed", "18446744073709551616"], ["seed", ""], ["number", -1], ["number", "7th"],
		["number", 4294967296], ["number", 7.5], ["width", "wide"], ["pack", 7], ["pack", "m\u0161ne"], ["pack", null],
		["view", "PLAYER"], ["Seed", 42], ["numbr", 7],
	]:
		_check("%s %s" % row, FloorCodec.problem_of_request({row[0]: row[1]}).begins_with(row[0] + " is "))


# What a climb reveals, and what it must not.
func _check_climbs() -> void:
	var climb := {"tower": "daily", "floor": 1, "width": 16, "height": 16, "player": "Ada", "hero": {"turns": 300}}
	var receipt := {"climb": Protobuf.encode(FloorCodec.CLIMB, climb), "signature": PoolByteArray([1]), "key": 1}
	var rolls := PoolByteArray(range(16))
	var right := {"receipt": receipt, "floor": _read("floors/tower_zero.bin"), "rolls": rolls}
	var revealed := _codec.decode_climb_floor(Protobuf.encode(FloorCodec.CLIMB_FLOOR, right), "daily", 1)
	_check("a climb", revealed.size() > 0 and revealed.climb.hero.turns == 300 and revealed.floor.spec.width == 16)
	_check("its receipt", _hex(revealed.receipt.climb) == _hex(receipt.climb) and revealed.rolls[15] == 15)
	for row in [
		["missing", "receipt", null], ["missing", "rolls", null], ["hash", "floor", null],
		["protobuf", "floor", PoolByteArray([1])], ["spec", "floor", _read("floors/default.bin")],
	]:
		var wrong := right.duplicate()
		wrong[row[1]] = row[2]
		var found := _codec.decode_climb_floor(Protobuf.encode(FloorCodec.CLIMB_FLOOR, wrong), "daily", 1)
		_check("a climb with a wrong " + row[1], found.size() == 0 and _codec.problem == row[0])
	for asked in [["weekly", 1], ["daily", 2]]:
		_codec.decode_climb_floor(Protobuf.encode(FloorCodec.CLIMB_FLOOR, right), asked[0], asked[1])
		_check("another climb", _codec.problem == "spec")
	_check("JSON", JSON.parse(FloorCodec.receipt_json(receipt)).result.signature == "AQ==")
	_check("options", FloorCodec.problem_of_climb({"player": "Ada", "width": 16, "height": 16, "pack": "tower"}) == "")
	for row in [["player", 7], ["width", "wide"], ["seed", 7]]:
		_check("option " + row[0], FloorCodec.problem_of_climb({row[0]: row[1]}).begins_with(row[0] + " is "))
	_check("no receipt", FloorCodec.problem_of_receipt({"climb": "text"}) != "")
	var busy := "CAgSBGJ1c3kaNQoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIJCgcIAhCA5Zp3"
	_check("a wait", FloorClient.retry_info(busy) == 2.25 and FloorClient.retry_info("") == -1.0)


# The tower of a text, or the refusal of one that names none or that is not composed.
func _check_seed(vector: Dictionary) -> void:
	var problem := FloorSeed.problem_of(vector.text)
	var seed_ = FloorSeed.seed_of(vector.text)
	if problem.begins_with("write it composed"):
		_check("the tower " + vector.text, vector.text in ["cafe\u0301", "\u1112\u1161\u11ab"] and seed_ == null)
	elif vector.seed == null:
		_check("no tower " + vector.text, problem != "" and seed_ == null)
	else:
		_check("the tower " + vector.text, problem == "" and seed_ == _integer(vector.seed))
		var request := FloorCodec.encode_request({"seed": vector.text})
		_check("a request of " + vector.text, _hex(request) == _hex(FloorCodec.encode_request({"seed": seed_})))


func _check_ways(manifest: Dictionary) -> void:
	var floors := {}
	for vector in manifest.floors:
		floors[vector.name] = vector
	for vector in manifest.ways:
		var decoded := _codec.decode_floor(_read(floors[vector.floor].bytes))
		var keys := []
		for key in vector.keys:
			keys.append(int(key))
		var from: Dictionary = _points([vector.from])[0]
		var to: Dictionary = _points([vector.to])[0]
		var path := _points([] if vector.path == null else vector.path)
		var name: String = "ways of " + vector.floor
		_check(name + ": reachable", _hash(FloorWays.reachable(decoded, from, keys)) == vector.reachable_xxh3)
		_check(name + ": path", _are(FloorWays.path(decoded, from, to, keys), path))
		_check(name + ": distance", FloorWays.distance(decoded, from, to, keys) == path.size() - 1)
		_check(name + ": starts", _are(FloorWays.starts(decoded, 6), _points(vector.starts)))


func _points(cells: Array) -> Array:
	var points := []
	for cell in cells:
		points.append({"x": int(cell[0]), "y": int(cell[1])})
	return points


# Dictionaries are equal only if they are one.
func _are(found: Array, expected: Array) -> bool:
	return str(found) == str(expected)


func _check_floor(vector: Dictionary) -> void:
	var decoded := _codec.decode_floor(_read(vector.bytes), _asked(vector))
	_check(vector.name, _codec.problem == "")
	if decoded.size() == 0:
		return
	var asked := _asked(vector)
	asked.view = 1 - asked.view
	_codec.decode_floor(_read(vector.bytes), asked)
	_check(vector.name + " in the other view", _codec.problem == "spec")
	_check(vector.name + ": content_hash", _number_hex(decoded.content_hash) == vector.content_hash)
	for name in ["terrain", "region"]:
		_check(vector.name + ": " + name, _hash(decoded[name]) == vector[name].cells_xxh3)
	if vector.has("json"):
		var json: Dictionary = JSON.parse(_read(vector.json).get_string_from_utf8()).result
		_check_surface(vector.name, decoded, json.floor)
		for kind in decoded.furniture:
			for i in range(kind.cells.size() - 1, 0, -1):
				kind.cells[i] -= kind.cells[i - 1]
		if vector.name == "pack_authored":
			_check("the name", decoded.name.text == "The Sexton's Rest" and decoded.furniture[0].cells == [526, 64])
		for name in decoded:
			if not name in ["terrain", "region"]:
				_check(vector.name + ": " + name, _same(decoded[name], json.floor.get(_camel_case(name))))


# What a game shows of a floor: its name, its hook, its landmark and its first furniture.
func _check_surface(vector: String, decoded: Dictionary, json: Dictionary) -> void:
	for name in ["name", "hook"]:
		var text: String = "" if decoded[name] == null else decoded[name].text
		_check(vector + ": the text of its " + name, text == json.get(name, {}).get("text", ""))
	_check(vector + ": the landmark", decoded.landmark == int(json.get("landmark", 0)))
	var expected: Array = json.get("furniture", [])
	_check(vector + ": types of furniture", decoded.furniture.size() == expected.size())
	if expected and decoded.furniture:
		var first: Dictionary = decoded.furniture[0]
		_check(vector + ": a piece", first.archetype == expected[0].archetype and first.cells[0] == int(expected[0].cells[0]))


func _print_speed() -> void:
	var encoded := _read("floors/default.bin")
	var started := OS.get_ticks_usec()
	for _i in 20:
		_codec.decode_floor(encoded)
	print("a floor of 100x100 cells decodes in %.1f ms" % ((OS.get_ticks_usec() - started) / 20000.0))


# The spec of a GetFloorRequest in hexadecimal.
func _asked(vector: Dictionary) -> Dictionary:
	var request := {1: ["spec", FloorCodec.SPEC]}
	return Protobuf.new(_unhex(vector.request)).message(request).spec


func _grid(vector: Dictionary) -> PoolByteArray:
	return FloorCodec.decode_grid(Protobuf.new(_unhex(vector.bytes)).message(FloorCodec.GRID))


# Whether a decoded value is that of proto3 JSON, in which a value of 0 is missing.
func _same(value, json) -> bool:
	match typeof(value):
		TYPE_NIL:
			return json == null
		TYPE_DICTIONARY:
			for name in value:
				if not _same(value[name], json.get(_camel_case(name))):
					return false
			return true
		TYPE_ARRAY:
			for i in value.size():
				if not _same(value[i], json[i]):
					return false
			return value.size() == (0 if json == null else json.size())
		TYPE_INT:
			if typeof(json) != TYPE_STRING:
				return value == int(0 if json == null else json)
			if json.begins_with("FLOOR_KIND_"):
				return value == _enum_value(FloorCodec.Kind, json)
			if json.begins_with("ROOM_ROLE_"):
				return value == _enum_value(FloorCodec.Role, json)
			if json.begins_with("BEHAVIOUR_"):
				return value == _enum_value(FloorCodec.Behaviour, json)
			if json.begins_with("VIEW_"):
				return value == _enum_value(FloorCodec.View, json)
			return value == _integer(json)
		TYPE_BOOL:
			return value == (json == true)
	return value == ("" if json == null else json)


func _check(name: String, holds: bool) -> void:
	_checked += 1
	if not holds:
		_wrong += 1
		print("wrong: " + name)


func _read(path: String) -> PoolByteArray:
	var file := File.new()
	if file.open(_folder + "/" + path, File.READ) != OK:
		print("cannot read " + _folder + "/" + path)
		_wrong += 1
	return file.get_buffer(file.get_len())


func _hash(cells: PoolByteArray) -> String:
	return _number_hex(_xxh3.hash64(cells))


static func _enum_value(values: Dictionary, json_name: String) -> int:
	for prefix in ["FLOOR_KIND_", "ROOM_ROLE_", "BEHAVIOUR_", "VIEW_"]:
		json_name = json_name.trim_prefix(prefix)
	return values[json_name]


# A decimal number of 64 bits without a sign.
static func _integer(text: String) -> int:
	var number := 0
	for digit in text:
		number = number * 10 + int(digit)
	return number


static func _camel_case(name: String) -> String:
	var words := name.capitalize().replace(" ", "")
	return words.left(1).to_lower() + words.substr(1)


static func _number_hex(number: int) -> String:
	return "%08x%08x" % [Xxh3.shift_right(number, 32), number & Xxh3.LOW_HALF]


static func _hex(bytes: PoolByteArray) -> String:
	return bytes.hex_encode()


static func _unhex(text: String) -> PoolByteArray:
	var bytes := PoolByteArray()
	for i in range(0, text.length(), 2):
		bytes.append(("0x" + text.substr(i, 2)).hex_to_int())
	return bytes
