# Prints a floor and ends: godot3-server --path clients/godot -s main.gd [SERVER] [NUMBER] [GENERATOR_VERSION]
extends SceneTree

const FloorClient := preload("floor_client.gd")


func _init() -> void:
	var client := FloorClient.new()
	var numbers := []
	for argument in OS.get_cmdline_args():
		if argument.begins_with("http"):
			client.server = argument
		elif argument.is_valid_integer():
			numbers.append(int(argument))
	var number: int = numbers[0] if numbers else 7
	if numbers.size() > 1:
		client.generator_version = numbers[1]
	client.connect("floor_received", self, "_show")
	client.connect("failed", self, "_fail")
	get_root().add_child(client)
	# The scene tree must run before a node can send.
	yield(self, "idle_frame")
	client.get_floor({"seed": 42, "number": number})


func _show(decoded: Dictionary) -> void:
	var exit: Dictionary = decoded.exit
	var terrain: int = decoded.terrain[exit.y * decoded.spec.width + exit.x]
	if decoded.name != null:
		print(decoded.name.text)
	print("%d rooms, exit at %d %d, terrain %d" % [decoded.rooms.size(), exit.x, exit.y, terrain])
	quit()


func _fail(code: String, message: String) -> void:
	print("%s: %s" % [code, message])
	quit(1)
