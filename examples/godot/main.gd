# Prints a floor and ends: godot3-server --path examples/godot -s main.gd [SERVER]
extends SceneTree

const FloorClient := preload("floor_client.gd")


func _init() -> void:
	var client := FloorClient.new()
	for argument in OS.get_cmdline_args():
		if argument.begins_with("http"):
			client.server = argument
	client.connect("floor_received", self, "_show")
	client.connect("failed", self, "_fail")
	get_root().add_child(client)
	# The scene tree must run before a node can send.
	yield(self, "idle_frame")
	client.get_floor({"seed": "42", "number": 7})


func _show(answer: Dictionary) -> void:
	var x := int(answer.exit.get("x", 0))
	var y := int(answer.exit.get("y", 0))
	var terrain: int = answer.terrain_cells[y * int(answer.spec.width) + x]
	print("%d rooms, exit at %d %d, terrain %d" % [answer.rooms.size(), x, y, terrain])
	quit()


func _fail(code: String, message: String) -> void:
	print("%s: %s" % [code, message])
	quit(1)
