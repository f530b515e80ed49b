# Gets floors from the floor server by HTTP, as protobuf. Godot 3; docs/clients/godot.md has the changes for Godot 4.
#
# Add it to the scene tree, connect its signals, and call get_floor. It makes one call at a time.
extends Node

const FloorCodec := preload("floor_codec.gd")

# The floor as FloorCodec.decode_floor returns it: checked, with the names of the .proto.
signal floor_received(decoded)
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
var _spec := {}
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
	_spec = spec
	_failed = 0
	_waits = 0
	_deadline = OS.get_ticks_msec() + int(TIMEOUT_SECONDS * 1000)
	_awaited_until = OS.get_ticks_msec() + int(RESTART_SECONDS * 1000)
	var problem := FloorCodec.problem_of_request(spec)
	if problem != "":
		# Later, as every answer.
		call_deferred("emit_signal", "failed", "invalid_argument", problem)
		return
	_send()


func _send() -> void:
	var headers := PoolStringArray()
	if token != "":
		headers.append("authorization: Bearer " + token)
	# A GET, because a body of HTTPRequest is text. The message is base64 for URLs.
	var message := Marshalls.raw_to_base64(FloorCodec.encode_request(_spec))
	message = message.replace("+", "-").replace("/", "_")
	var url := server.strip_edges().trim_suffix("/") + "/floors.v1.FloorService/GetFloor?connect=v1&encoding=proto&base64=1&message=" + message
	if generator_version != 0:
		url += "&generator_version=%d" % generator_version
	_request.timeout = int(max(1, ceil(_remaining())))
	var error := _request.request(url, headers)
	if error != OK:
		emit_signal("failed", "internal", "the request could not be made: error %d" % error)


func _completed(result: int, status: int, _headers: PoolStringArray, body: PoolByteArray) -> void:
	if result != HTTPRequest.RESULT_SUCCESS:
		_unreachable(result)
		return
	if status != 200:
		_refused(status, body)
		return
	var decoded := _codec.decode_floor(body, _spec)
	if decoded.size() == 0:
		emit_signal("failed", "data_loss", _codec.PROBLEMS[_codec.problem])
		return
	emit_signal("floor_received", decoded)


func _refused(status: int, body: PoolByteArray) -> void:
	var parsed := JSON.parse(body.get_string_from_utf8())
	if parsed.error != OK or typeof(parsed.result) != TYPE_DICTIONARY:
		emit_signal("failed", "internal", "HTTP status %d with a body that is no JSON" % status)
		return
	var code := str(parsed.result.get("code", "unknown"))
	var asked := _retry_delay(parsed.result)
	# Without a delay it is not the server that refuses.
	var transient := code in ["unavailable", "canceled", "deadline_exceeded"] or (code == "resource_exhausted" and asked >= 0)
	_failed += 1
	_retry_or_fail(transient, asked, code, str(parsed.result.get("message", "")))


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
