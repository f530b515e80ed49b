# Gets floors from the floor server by HTTP, as protobuf. Godot 3; docs/clients/godot.md has the changes for Godot 4.
#
# Add it to the scene tree, connect its signals, and call get_floor, or get_daily, start_climb and submit_floor. It
# makes one call at a time.
extends Node

const FloorCodec := preload("floor_codec.gd")

# The floor as FloorCodec.decode_floor returns it: checked, with the names of the .proto.
signal floor_received(decoded)
# The sealed tower of the day: tower, date, seconds_left and so on.
signal daily_received(daily)
# A floor of a climb as FloorCodec.decode_climb_floor returns it: receipt, climb, floor, rolls. Godot has no Ed25519:
# the server, a board or `floorctl receipt verify` checks the signature of the receipt.
signal climb_received(revealed)
# A status in lower case, such as "invalid_argument", and a text for people.
signal failed(code, message)

const MAX_ANSWER_BYTES := 16 * 1024 * 1024
# For a call with all its attempts and the waits between them.
const TIMEOUT_SECONDS := 10.0
const RETRIES := 4
const FIRST_WAIT_SECONDS := 0.1
const LONGEST_WAIT_SECONDS := 2.0
# A server that restarts is awaited for so long: until then attempts that nothing accepts are not counted.
const RESTART_SECONDS := 10.0
const TLS_FAILS := "TLS fails: the certificate of the server is of an authority that is not trusted (name it in the" \
		+ " project setting network/ssl/certificates) or for another name, or the server does not speak TLS (then write http://)"
const ENDED := "the server ended the connection without an answer: it closes, or it speaks TLS (then write https://)"

# The statuses of gRPC by their numbers.
const CODES := [
	"ok", "canceled", "unknown", "invalid_argument", "deadline_exceeded", "not_found", "already_exists",
	"permission_denied", "resource_exhausted", "failed_precondition", "aborted", "out_of_range", "unimplemented",
	"internal", "unavailable", "data_loss", "unauthenticated",
]
# The parts of google.rpc.Status and RetryInfo that are read.
const STATUS := {
	3: ["details", {1: ["type_url", FloorCodec.Protobuf.TEXT], 2: ["value", FloorCodec.Protobuf.BYTES]}, true],
}
const RETRY_INFO := {
	1: ["retry_delay", {1: ["seconds", FloorCodec.Protobuf.UINT], 2: ["nanos", FloorCodec.Protobuf.UINT]}],
}

var server := "http://127.0.0.1:50051"
# Sent as "authorization: Bearer TOKEN" if it is not empty. Use https then.
var token := ""
# Accepts floors of this generator version only, for games whose towers must not change; 0 is any. A server of another
# version refuses the call: "failed_precondition".
var generator_version := 0

var _request := HTTPRequest.new()
var _codec := FloorCodec.new()
# Of its own, so that it changes no number that the game draws.
var _random := RandomNumberGenerator.new()
# The call: its method, its encoded request, and what its answer must be of.
var _rpc := ""
var _message := PoolByteArray()
var _asked := {}
var _failed := 0
var _waits := 0
# In milliseconds since the start of the engine.
var _deadline := 0
var _awaited_until := 0


func _ready() -> void:
	_request.body_size_limit = MAX_ANSWER_BYTES
	_request.max_redirects = 0
	_random.randomize()
	add_child(_request)
	_request.connect("request_completed", self, "_completed")


# Leave out what the server shall choose: get_floor({"seed": 42, "number": 7}), and "width", "height", "kind", "pack",
# "view". The seed may be a text that names a tower: "my dungeon".
func get_floor(spec: Dictionary) -> void:
	var problem := FloorCodec.problem_of_request(spec)
	_call("GetFloor", FloorCodec.encode_request(spec) if problem == "" else PoolByteArray(), spec, problem)


func get_daily() -> void:
	_call("GetDaily", PoolByteArray(), {}, "")


# Begins a climb of a sealed tower: start_climb(daily.tower, {"player": "Ada"}). The options may have "width", "height" and
# "pack", too.
func start_climb(tower: String, options := {}) -> void:
	var problem := FloorCodec.problem_of_climb(options)
	var message := FloorCodec.encode_start(tower, options) if problem == "" else PoolByteArray()
	_call("StartClimb", message, {"tower": tower, "number": 1}, problem)


# Goes on with a climb: the acts that lead to the stairs of the floor that came with the receipt, one byte each. A
# receipt may be submitted again.
func submit_floor(receipt: Dictionary, acts: PoolByteArray) -> void:
	var problem := FloorCodec.problem_of_receipt(receipt)
	if problem != "":
		_call("SubmitFloor", acts, {}, problem)
		return
	var climb := FloorCodec.climb_of(receipt)
	var message := FloorCodec.encode_submit(receipt, acts)
	_call("SubmitFloor", message, {"tower": climb.tower, "number": climb.floor + 1}, "")


func _call(rpc: String, message: PoolByteArray, asked: Dictionary, problem: String) -> void:
	_rpc = rpc
	_message = message
	_asked = asked
	_failed = 0
	_waits = 0
	_deadline = OS.get_ticks_msec() + int(TIMEOUT_SECONDS * 1000)
	_awaited_until = OS.get_ticks_msec() + int(RESTART_SECONDS * 1000)
	if problem != "":
		# Later, as every answer.
		call_deferred("emit_signal", "failed", "invalid_argument", problem)
		return
	_send()


func _send() -> void:
	var headers := PoolStringArray()
	if token != "":
		headers.append("authorization: Bearer " + token)
	var url := server.strip_edges().trim_suffix("/") + "/floors.v1.FloorService/" + _rpc
	_request.timeout = int(max(1, ceil(_remaining())))
	var error := _send_post(url, headers) if _is_climb() else _send_get(url, headers)
	if error != OK:
		emit_signal("failed", "internal", "the request could not be made: error %d" % error)


# By Connect. The message is base64 for URLs.
func _send_get(url: String, headers: PoolStringArray) -> int:
	var message := Marshalls.raw_to_base64(_message) if _message.size() > 0 else ""
	url += "?connect=v1&encoding=proto&base64=1&message=" + message.replace("+", "-").replace("/", "_")
	if generator_version != 0:
		url += "&generator_version=%d" % generator_version
	return _request.request(url, headers)


# By gRPC-Web, since these calls have no GET, and a body of HTTPRequest is text. The answer is in bytes.
func _send_post(url: String, headers: PoolStringArray) -> int:
	headers.append("content-type: application/grpc-web-text+proto")
	headers.append("accept: application/grpc-web+proto")
	if generator_version != 0:
		headers.append("floor-generator-version: %d" % generator_version)
	var size := _message.size()
	var frame := PoolByteArray([0, size >> 24, size >> 16 & 0xFF, size >> 8 & 0xFF, size & 0xFF])
	frame.append_array(_message)
	return _request.request(url, headers, true, HTTPClient.METHOD_POST, Marshalls.raw_to_base64(frame))


func _is_climb() -> bool:
	return _rpc in ["StartClimb", "SubmitFloor"]


func _completed(result: int, status: int, headers: PoolStringArray, body: PoolByteArray) -> void:
	if result != HTTPRequest.RESULT_SUCCESS:
		_unreachable(result)
	elif status != 200:
		_refused(status, body)
	elif _is_climb():
		_climbed(headers, body)
	elif _rpc == "GetDaily":
		var reader := FloorCodec.Protobuf.new(body)
		var daily := reader.message(FloorCodec.DAILY)
		if reader.failed:
			emit_signal("failed", "data_loss", "the bytes are no Daily")
		else:
			emit_signal("daily_received", daily)
	else:
		_received("floor_received", _codec.decode_floor(body, _asked))


# An answer of gRPC-Web: a status in the headers, or a message and behind it the trailers of a call that succeeded.
func _climbed(headers: PoolStringArray, body: PoolByteArray) -> void:
	var found := {}
	for header in headers:
		var colon: int = header.find(":")
		found[header.left(colon).to_lower()] = header.substr(colon + 1).strip_edges()
	var number := int(found.get("grpc-status", "0"))
	if number != 0:
		var code: String = CODES[number] if number > 0 and number < CODES.size() else "unknown"
		_status(code, retry_info(found.get("grpc-status-details-bin", "")), found.get("grpc-message", "").percent_decode())
		return
	var size := 0
	for i in range(1, min(5, body.size())):
		size = size << 8 | body[i]
	if body.size() < 5 or body[0] != 0 or size > body.size() - 5:
		emit_signal("failed", "data_loss", "the answer is cut off")
		return
	var message := body.subarray(5, 4 + size) if size > 0 else PoolByteArray()
	_received("climb_received", _codec.decode_climb_floor(message, _asked.tower, _asked.number))


func _received(signal_name: String, decoded: Dictionary) -> void:
	if decoded.size() == 0:
		emit_signal("failed", "data_loss", _codec.PROBLEMS[_codec.problem])
	else:
		emit_signal(signal_name, decoded)


func _refused(status: int, body: PoolByteArray) -> void:
	var parsed := JSON.parse(body.get_string_from_utf8())
	if parsed.error != OK or typeof(parsed.result) != TYPE_DICTIONARY:
		emit_signal("failed", "internal", "HTTP status %d with a body that is no JSON" % status)
		return
	var code := str(parsed.result.get("code", "unknown"))
	_status(code, _retry_delay(parsed.result), str(parsed.result.get("message", "")))


func _status(code: String, asked: float, message: String) -> void:
	# Without a delay it is not the server that refuses.
	var transient := code in ["unavailable", "canceled", "deadline_exceeded"] or (code == "resource_exhausted" and asked >= 0)
	_failed += 1
	_retry_or_fail(transient, asked, code, message)


# What the result of HTTPRequest means.
func _unreachable(result: int) -> void:
	var tls := server.begins_with("https:")
	match result:
		HTTPRequest.RESULT_CANT_CONNECT:
			_failed += int(OS.get_ticks_msec() >= _awaited_until)
			_retry_or_fail(true, -1.0, "unavailable", "nothing accepts connections at " + server + (", or it does not speak TLS" if tls else ""))
			return
		HTTPRequest.RESULT_SSL_HANDSHAKE_ERROR:
			emit_signal("failed", "unavailable", server + ": " + TLS_FAILS)
			return
		HTTPRequest.RESULT_TIMEOUT:
			emit_signal("failed", "deadline_exceeded", "the server did not answer in time")
			return
	_failed += 1
	var reason := ENDED if result == HTTPRequest.RESULT_CONNECTION_ERROR and not tls else "result %d of HTTPRequest" % result
	_retry_or_fail(true, -1.0, "unavailable", server + ": " + reason)


# The seconds that a refusal asks to wait, -1 if it does not.
func _retry_delay(refusal: Dictionary) -> float:
	for detail in refusal.get("details", []):
		if str(detail.get("type", "")).ends_with("google.rpc.RetryInfo"):
			return float(str(detail.get("debug", {}).get("retryDelay", "0s")).trim_suffix("s"))
	return -1.0


# The same of an encoded google.rpc.Status in base64.
static func retry_info(details: String) -> float:
	if details == "":
		return -1.0
	# Without padding.
	var padded := details + "==".left((4 - details.length() % 4) % 4)
	for detail in FloorCodec.Protobuf.new(Marshalls.base64_to_raw(padded)).message(STATUS).details:
		if detail.type_url.ends_with("google.rpc.RetryInfo"):
			var delay = FloorCodec.Protobuf.new(detail.value).message(RETRY_INFO).retry_delay
			return 0.0 if delay == null else delay.seconds + delay.nanos / 1e9
	return -1.0


func _retry_or_fail(transient: bool, asked: float, code: String, message: String) -> void:
	var wait := asked
	if wait < 0:
		wait = _random.randf_range(0.0, min(FIRST_WAIT_SECONDS * pow(2, _waits), LONGEST_WAIT_SECONDS))
		_waits += 1
	if not transient or _failed > RETRIES or wait >= _remaining():
		emit_signal("failed", code, message)
		return
	yield(get_tree().create_timer(wait), "timeout")
	_send()


func _remaining() -> float:
	return (_deadline - OS.get_ticks_msec()) / 1000.0
