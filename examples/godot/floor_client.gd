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
const TIMEOUT_SECONDS := 10
const RETRIES := 3

var server := "http://127.0.0.1:50051"
# Sent as "authorization: Bearer TOKEN" if it is not empty. Use https then.
var token := ""
# Accepts floors of this generator version only, for games whose towers must not change; 0 is any. A server of another
# version refuses the call: "failed_precondition".
var generator_version := 0

var _request := HTTPRequest.new()
var _codec := FloorCodec.new()
var _spec := {}
var _attempt := 0


func _ready() -> void:
	_request.timeout = TIMEOUT_SECONDS
	_request.body_size_limit = MAX_ANSWER_BYTES
	_request.max_redirects = 0
	add_child(_request)
	_request.connect("request_completed", self, "_completed")


# Leave out what the server shall choose: get_floor({"seed": 42, "number": 7}), and "width", "height", "kind", "pack".
func get_floor(spec: Dictionary) -> void:
	_spec = spec
	_attempt = 0
	_send()


func _send() -> void:
	var headers := PoolStringArray()
	if token != "":
		headers.append("authorization: Bearer " + token)
	# A GET, because a body of HTTPRequest is text. The message is base64 for URLs.
	var message := Marshalls.raw_to_base64(FloorCodec.encode_request(_spec))
	message = message.replace("+", "-").replace("/", "_")
	var url := server + "/floors.v1.FloorService/GetFloor?connect=v1&encoding=proto&base64=1&message=" + message
	if generator_version != 0:
		url += "&generator_version=%d" % generator_version
	var error := _request.request(url, headers)
	if error != OK:
		emit_signal("failed", "internal", "the request could not be made: error %d" % error)


func _completed(result: int, status: int, _headers: PoolStringArray, body: PoolByteArray) -> void:
	if result != HTTPRequest.RESULT_SUCCESS:
		_retry_or_fail("unavailable", "the server cannot be reached: result %d" % result)
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
	_retry_or_fail(str(parsed.result.get("code", "unknown")), str(parsed.result.get("message", "")))


# Only a server that is busy or closes may be asked again.
func _retry_or_fail(code: String, message: String) -> void:
	_attempt += 1
	if _attempt > RETRIES or not code in ["unavailable", "resource_exhausted"]:
		emit_signal("failed", code, message)
		return
	var wait := 0.05 * pow(2, _attempt) * rand_range(0.5, 1.0)
	yield(get_tree().create_timer(wait), "timeout")
	_send()
