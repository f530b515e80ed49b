# Climbs a floor of a sealed tower and ends: godot3-server --path clients/godot -s climb.gd [SERVER]
# It looks for a small tower with a free way to the stairs. With the word "daily" it begins a climb of the tower of the
# day, and submits that it has done nothing.
extends SceneTree

const FloorClient := preload("floor_client.gd")
const FloorWays := preload("floor_ways.gd")
const MOST_TOWERS := 100

var _client := FloorClient.new()
var _tower := 0
var _acts := PoolByteArray()


func _init() -> void:
	for argument in OS.get_cmdline_args():
		if argument.begins_with("http"):
			_client.server = argument
	_client.connect("daily_received", self, "_begin")
	_client.connect("climb_received", self, "_climb")
	_client.connect("failed", self, "_fail")
	get_root().add_child(_client)
	yield(self, "idle_frame")
	if "daily" in OS.get_cmdline_args():
		_tower = MOST_TOWERS
		_client.get_daily()
	else:
		_try_next()


func _begin(daily: Dictionary) -> void:
	_client.start_climb(daily.tower, {"player": "Ada"})


func _try_next() -> void:
	_client.start_climb("tower-%d" % _tower, {"width": 16, "height": 16})


func _climb(revealed: Dictionary) -> void:
	var climb: Dictionary = revealed.climb
	print("floor %d of %s: %d rooms" % [climb.floor, climb.tower, revealed.floor.rooms.size()])
	if climb.floor > 1:
		print(FloorClient.FloorCodec.receipt_json(revealed.receipt))
		print("floor %d after %d acts, %d turns" % [climb.floor, _acts.size(), climb.hero.turns])
		quit()
		return
	_acts = PoolByteArray()
	if _tower < MOST_TOWERS:
		var way := FloorWays.path(revealed.floor, revealed.floor.entry, revealed.floor.exit)
		for i in range(1, way.size()):
			# Steps north, west, east, south are 0 to 3.
			_acts.append([-2, -1, 1, 2].find(way[i].x - way[i - 1].x + 2 * (way[i].y - way[i - 1].y)))
	_client.submit_floor(revealed.receipt, _acts)


func _fail(code: String, message: String) -> void:
	_tower += 1
	if code == "invalid_argument" and _tower < MOST_TOWERS:
		_try_next()
		return
	print("%s: %s" % [code, message])
	quit(1)
