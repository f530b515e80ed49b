# Draws a floor: godot3 --path clients/godot [SERVER]. Open the scene picture.tscn in the editor to change it.
extends Node2D

const FloorClient := preload("floor_client.gd")
const CELL := 6
# By the number of the terrain. Unknown ones are black.
const COLORS := ["000000", "3b3b46", "b9a88a", "8a5a2b", "c03030", "6a4a8a", "ffffff", "30c030", "7fb4d8", "3060a0",
		"e06020", "101018", "9a7a50", "5a9a4a", "8a8278", "55555f"]

var _floor := {}


func _ready() -> void:
	var client := FloorClient.new()
	for argument in OS.get_cmdline_args():
		if argument.begins_with("http"):
			client.server = argument
	client.connect("floor_received", self, "_show")
	client.connect("failed", self, "_fail")
	add_child(client)
	client.get_floor({"seed": 42, "number": 7})


func _draw() -> void:
	if not _floor:
		return
	var width: int = _floor.spec.width
	for i in _floor.terrain.size():
		var terrain: int = _floor.terrain[i]
		_square(i % width, i / width, COLORS[terrain] if terrain < COLORS.size() else "000000")
	for spawn in _floor.spawns:
		_square(spawn.at.x, spawn.at.y, "d02060")
	print("%d cells and %d monsters drawn" % [_floor.terrain.size(), _floor.spawns.size()])


func _square(x: int, y: int, color: String) -> void:
	draw_rect(Rect2(x * CELL, y * CELL, CELL, CELL), Color(color))


func _show(decoded: Dictionary) -> void:
	_floor = decoded
	update()


func _fail(code: String, message: String) -> void:
	push_error("%s: %s" % [code, message])
