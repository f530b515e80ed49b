# Decodes the grids of the test vectors: godot3-server --path examples/godot -s vectors.gd FOLDER, such as
# /path/to/proto/vectors
extends SceneTree

const FloorClient := preload("floor_client.gd")


func _init() -> void:
	var folder := ""
	for argument in OS.get_cmdline_args():
		if argument.ends_with("vectors"):
			folder = argument
	var checked := 0
	var wrong := 0
	for vector in _read(folder + "/manifest.json").floors:
		if not vector.has("json"):
			continue
		var decoded := _read(folder + "/" + vector.json)
		for name in ["terrain", "region"]:
			var text := PoolStringArray()
			for cell in FloorClient.decode_grid(decoded.floor[name]):
				text.append("%x" % cell if name == "terrain" else "%02x" % cell)
			checked += 1
			if text.join("") != PoolStringArray(decoded[name]).join(""):
				wrong += 1
				print("%s: %s" % [vector.name, name])
	print("%d grids, %d wrong" % [checked, wrong])
	quit(1 if wrong > 0 or checked == 0 else 0)


func _read(path: String) -> Dictionary:
	var file := File.new()
	if file.open(path, File.READ) != OK:
		print("cannot read " + path)
		return {"floors": []}
	var parsed := JSON.parse(file.get_as_text())
	return parsed.result
