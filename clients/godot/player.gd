# A fake player for .ci/restart: godot3-server --path clients/godot -s player.gd SERVER SECONDS. It calls for that time,
# prints a line for each failure, and a summary.
extends SceneTree

const FloorClient := preload("floor_client.gd")

var _client := FloorClient.new()
var _end := 0
var _start := 0
var _longest := 0
var _number := 0
var _failed := 0


func _init() -> void:
	var arguments := OS.get_cmdline_args()
	_client.server = arguments[-2]
	_end = OS.get_ticks_msec() + int(arguments[-1]) * 1000
	_client.connect("floor_received", self, "_received")
	_client.connect("failed", self, "_fail")
	get_root().add_child(_client)
	yield(self, "idle_frame")
	_call()


func _call() -> void:
	_number += 1
	_start = OS.get_ticks_msec()
	_client.get_floor({"seed": 42, "number": _number, "width": 32, "height": 32})


func _received(_decoded: Dictionary) -> void:
	_longest = int(max(_longest, OS.get_ticks_msec() - _start))
	if OS.get_ticks_msec() < _end:
		call_deferred("_call")
		return
	var counts := [_number - _failed, _failed, _longest / 1000.0]
	print("%d calls, 0 floors streamed, %d failed, longest %.1f s" % counts)
	quit()


func _fail(code: String, message: String) -> void:
	_failed += 1
	print("call: %s: %s" % [code, message])
	_received({})
