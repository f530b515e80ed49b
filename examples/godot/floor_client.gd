# Gets floors from the floor server as JSON. Godot 3; docs/clients/godot.md has the changes for Godot 4.
#
# Add it to the scene tree, connect its signals, and call get_floor. It makes one call at a time.
extends Node

# The floor as JSON, with its cells in answer.terrain_cells and answer.region_cells (PoolByteArray, index y * width + x).
signal floor_received(answer)
# A status in lower case, such as "invalid_argument", and a text for people.
signal failed(code, message)

const MAX_SIDE := 512
const MAX_ANSWER_BYTES := 16 * 1024 * 1024
const TIMEOUT_SECONDS := 10
const RETRIES := 3

var server := "http://127.0.0.1:50051"
# Sent as "authorization: Bearer TOKEN" if it is not empty. Use https then.
var token := ""

var _request := HTTPRequest.new()
var _body := ""
var _attempt := 0


func _ready() -> void:
	_request.timeout = TIMEOUT_SECONDS
	_request.body_size_limit = MAX_ANSWER_BYTES
	_request.max_redirects = 0
	add_child(_request)
	_request.connect("request_completed", self, "_completed")


# The seed is a string, because a number of JSON has only 53 bits. Leave out what the server shall choose:
# get_floor({"seed": "42", "number": 7})
func get_floor(spec: Dictionary) -> void:
	_body = JSON.print({"spec": spec})
	_attempt = 0
	_send()


func _send() -> void:
	var headers := ["content-type: application/json"]
	if token != "":
		headers.append("authorization: Bearer " + token)
	var url := server + "/floors.v1.FloorService/GetFloor"
	var error := _request.request(url, headers, true, HTTPClient.METHOD_POST, _body)
	if error != OK:
		emit_signal("failed", "internal", "the request could not be made: error %d" % error)


func _completed(result: int, status: int, _headers: PoolStringArray, body: PoolByteArray) -> void:
	if result != HTTPRequest.RESULT_SUCCESS:
		_retry_or_fail("unavailable", "the server cannot be reached: result %d" % result)
		return
	var parsed := JSON.parse(body.get_string_from_utf8())
	if parsed.error != OK or typeof(parsed.result) != TYPE_DICTIONARY:
		emit_signal("failed", "internal", "HTTP status %d with a body that is no JSON" % status)
		return
	var answer: Dictionary = parsed.result
	if status != 200:
		_retry_or_fail(str(answer.get("code", "unknown")), str(answer.get("message", "")))
		return
	answer["terrain_cells"] = decode_grid(answer.get("terrain", {}))
	answer["region_cells"] = decode_grid(answer.get("region", {}))
	if answer.terrain_cells.size() == 0 or answer.region_cells.size() == 0:
		emit_signal("failed", "data_loss", "a grid of the floor does not decode")
		return
	emit_signal("floor_received", answer)


# Only a server that is busy or closes may be asked again.
func _retry_or_fail(code: String, message: String) -> void:
	_attempt += 1
	if _attempt > RETRIES or not code in ["unavailable", "resource_exhausted"]:
		emit_signal("failed", code, message)
		return
	var wait := 0.05 * pow(2, _attempt) * rand_range(0.5, 1.0)
	yield(get_tree().create_timer(wait), "timeout")
	_send()


# The values of the cells of a grid, empty if the grid is malformed. Fields that are 0 are left out in JSON.
static func decode_grid(grid: Dictionary) -> PoolByteArray:
	var width := int(grid.get("width", 0))
	var height := int(grid.get("height", 0))
	var bits := int(grid.get("bits", 0))
	var palette: Array = grid.get("palette", [])
	var encoding: String = grid.get("encoding", "")
	var data := PoolByteArray()
	if grid.get("data", "") != "":
		data = Marshalls.base64_to_raw(grid.data)
	var malformed := PoolByteArray()
	if width < 1 or width > MAX_SIDE or height < 1 or height > MAX_SIDE or palette.empty() or palette.size() > 256:
		return malformed
	for i in palette.size():
		if palette[i] < 0 or palette[i] > 255 or (i > 0 and palette[i] <= palette[i - 1]):
			return malformed
	if (encoding == "GRID_ENCODING_PACKED") != (bits in [1, 2, 4]) or (encoding != "GRID_ENCODING_PACKED" and bits != 0):
		return malformed
	var indices := data
	match encoding:
		"GRID_ENCODING_UNIFORM":
			if data.size() != 0 or palette.size() != 1:
				return malformed
			indices.resize(width * height)
			for i in indices.size():
				indices[i] = 0
		"GRID_ENCODING_RAW8":
			pass
		"GRID_ENCODING_PACKED":
			indices = _unpack(data, width * height, bits)
		"GRID_ENCODING_RLE":
			indices = _runs(data, width * height)
		_:
			return malformed
	if indices.size() != width * height:
		return malformed
	var cells := PoolByteArray()
	cells.resize(indices.size())
	for i in indices.size():
		if indices[i] >= palette.size():
			return malformed
		cells[i] = int(palette[indices[i]])
	return cells


static func _unpack(data: PoolByteArray, size: int, bits: int) -> PoolByteArray:
	var indices := PoolByteArray()
	var per_byte := 8 / bits
	if data.size() != (size + per_byte - 1) / per_byte:
		return indices
	var used := size % per_byte
	if used != 0 and data[data.size() - 1] >> (used * bits) != 0:
		return indices
	indices.resize(size)
	for i in size:
		indices[i] = data[i / per_byte] >> (i % per_byte * bits) & ((1 << bits) - 1)
	return indices


static func _runs(data: PoolByteArray, size: int) -> PoolByteArray:
	var indices := PoolByteArray()
	indices.resize(size)
	var filled := 0
	var at := 0
	while at < data.size():
		var index := data[at]
		var length := 0
		var shift := 0
		while true:
			at += 1
			# Three bytes hold every length of a run.
			if at >= data.size() or shift > 14:
				return PoolByteArray()
			length |= (data[at] & 0x7f) << shift
			shift += 7
			if data[at] < 0x80:
				break
		at += 1
		if length >= size - filled:
			return PoolByteArray()
		for i in range(filled, filled + length + 1):
			indices[i] = index
		filled += length + 1
	return indices if filled == size else PoolByteArray()
