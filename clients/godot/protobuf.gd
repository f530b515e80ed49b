# Reads and writes protobuf messages by a schema: number of a field -> [name, type] or [name, type, REPEATED]. A type is
# one of those below, or the schema of a message.
extends Reference

enum {UINT, BOOL, FIXED64, TEXT, BYTES, PACKED}
enum {VARINT, I64, LENGTH_DELIMITED, I32 = 5}
const REPEATED := true
# The wire type and the default of each type.
const WIRE_TYPES := [VARINT, VARINT, I64, LENGTH_DELIMITED, LENGTH_DELIMITED, LENGTH_DELIMITED]
const DEFAULTS := [0, false, 0, "", null, null]

# Whether the bytes are no message. Then all results are worthless.
var failed := false
var _bytes: PoolByteArray
var _at := 0


func _init(bytes: PoolByteArray) -> void:
	_bytes = bytes


# The message by the names of its fields. One that is missing has its default: 0, false, "", an empty array; null for a
# message.
func message(schema: Dictionary) -> Dictionary:
	_at = 0
	return _message(schema, _bytes.size())


# The bytes without the fields of this number at the top level, and how many those were.
func without(number: int) -> Dictionary:
	var rest := PoolByteArray()
	var found := 0
	var kept := 0
	_at = 0
	while _at < _bytes.size() and not failed:
		var start := _at
		var tag := _varint(_bytes.size())
		_skip(tag & 7, _bytes.size())
		if tag >> 3 == number:
			rest.append_array(_slice(kept, start))
			kept = _at
			found += 1
	rest.append_array(_slice(kept, _bytes.size()))
	return {"bytes": rest, "found": found}


# The bytes of a message, in the order of its schema, without fields that are missing, 0 or empty. The types are UINT,
# TEXT, BYTES and messages.
static func encode(schema: Dictionary, values: Dictionary) -> PoolByteArray:
	var bytes := PoolByteArray()
	for number in schema:
		var type = schema[number][1]
		var value = values.get(schema[number][0])
		if typeof(type) == TYPE_INT and type == UINT:
			if value != null and value != 0:
				bytes.append_array(_encoded(number << 3 | VARINT))
				bytes.append_array(_encoded(value))
			continue
		var content := PoolByteArray()
		if value != null:
			if typeof(type) == TYPE_DICTIONARY:
				content = encode(type, value)
			else:
				content = value.to_utf8() if type == TEXT else value
		if content.size() > 0 or (typeof(type) == TYPE_DICTIONARY and value != null):
			bytes.append_array(_encoded(number << 3 | LENGTH_DELIMITED))
			bytes.append_array(_encoded(content.size()))
			bytes.append_array(content)
	return bytes


# A varint. A negative number stands for one of 2^63 or more.
static func _encoded(value: int) -> PoolByteArray:
	var bytes := PoolByteArray()
	while value < 0 or value > 0x7F:
		bytes.append((value & 0x7F) | 0x80)
		value = (value >> 7) & 0x01FFFFFFFFFFFFFF
	bytes.append(value)
	return bytes


func _message(schema: Dictionary, end: int) -> Dictionary:
	var result := {}
	for field in schema.values():
		result[field[0]] = _default(field)
	while _at < end and not failed:
		var tag := _varint(end)
		if tag < 8:
			failed = true
			break
		var wire_type := tag & 7
		var field: Array = schema.get(tag >> 3, [])
		if field.size() == 0 or not _fits(field[1], wire_type):
			_skip(wire_type, end)
		elif typeof(field[1]) == TYPE_INT and field[1] == PACKED:
			var stop := _length(end) if wire_type == LENGTH_DELIMITED else _at + 1
			while _at < stop and not failed:
				result[field[0]].append(_varint(end))
		elif field.size() > 2:
			result[field[0]].append(_value(field[1], end))
		else:
			result[field[0]] = _value(field[1], end)
	return result


static func _default(field: Array):
	if field.size() > 2 or (typeof(field[1]) == TYPE_INT and field[1] == PACKED):
		return []
	if typeof(field[1]) == TYPE_DICTIONARY:
		return null
	return PoolByteArray() if field[1] == BYTES else DEFAULTS[field[1]]


# A repeated number may also come as a field for each.
static func _fits(type, wire_type: int) -> bool:
	if typeof(type) == TYPE_DICTIONARY:
		return wire_type == LENGTH_DELIMITED
	return wire_type == WIRE_TYPES[type] or (type == PACKED and wire_type == VARINT)


func _value(type, end: int):
	if typeof(type) == TYPE_DICTIONARY:
		return _message(type, _length(end))
	match type:
		UINT:
			return _varint(end)
		BOOL:
			return _varint(end) != 0
		FIXED64:
			return _fixed64(end)
	var stop := _length(end)
	var content := _slice(_at, stop)
	_at = stop
	if type == BYTES:
		return content
	# The text of bytes that are no UTF-8 is empty.
	var text := content.get_string_from_utf8()
	failed = failed or text.to_utf8().size() != content.size()
	return text


func _varint(end: int) -> int:
	var value := 0
	for shift in range(0, 64, 7):
		if _at >= end:
			break
		var byte := _bytes[_at]
		_at += 1
		value |= (byte & 0x7F) << shift
		if byte < 0x80:
			return value
	failed = true
	return 0


func _fixed64(end: int) -> int:
	if end - _at < 8:
		failed = true
		return 0
	var value := 0
	for i in 8:
		value |= _bytes[_at + i] << (8 * i)
	_at += 8
	return value


# Reads a length. Where what has this length ends.
func _length(end: int) -> int:
	var length := _varint(end)
	if length < 0 or length > end - _at:
		failed = true
		return _at
	return _at + length


func _skip(wire_type: int, end: int) -> void:
	match wire_type:
		VARINT:
			_varint(end)
		I64:
			_fixed64(end)
		LENGTH_DELIMITED:
			_at = _length(end)
		I32:
			_at += 4
			failed = failed or _at > end
		_:
			failed = true


func _slice(start: int, end: int) -> PoolByteArray:
	return _bytes.subarray(start, end - 1) if end > start else PoolByteArray()
