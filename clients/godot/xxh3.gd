# XXH3-64 with seed 0, for inputs of 17 bytes or more: no floor is shorter. 64-bit products and sums wrap.
extends Reference

const PRIME32_1 := 0x9E3779B1
const PRIME32_2 := 0x85EBCA77
const PRIME32_3 := 0xC2B2AE3D
# GDScript has signed 64-bit integers only, so primes of 2^63 and more are negative.
const PRIME64_1 := -7046029288634856825
const PRIME64_2 := -4417276706812531889
const PRIME64_3 := 1609587929392839161
const PRIME64_4 := -8796714831421723037
const PRIME64_5 := 2870177450012600261
const PRIME_AVALANCHE := 1609587791953885689

const LOW_HALF := 0xFFFFFFFF
const NOT_NEGATIVE := 0x7FFFFFFFFFFFFFFF
const STRIPE_BYTES := 64
const LANES := 8
const STRIPES_PER_BLOCK := 16
const SECRET := "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221" \
	+ "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" \
	+ "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb" \
	+ "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"

var _data := StreamPeerBuffer.new()
var _size := 0
var _secret := StreamPeerBuffer.new()


func _init() -> void:
	var bytes := PoolByteArray()
	for i in range(0, SECRET.length(), 2):
		bytes.append(("0x" + SECRET.substr(i, 2)).hex_to_int())
	_secret.data_array = bytes


func hash64(data: PoolByteArray) -> int:
	assert(data.size() > 16)
	_data.data_array = data
	_size = data.size()
	if _size <= 128:
		return _hash_to_128()
	if _size <= 240:
		return _hash_to_240()
	return _hash_long()


func _hash_to_128() -> int:
	var sum := _size * PRIME64_1
	for i in range((_size - 1) / 32, -1, -1):
		sum += _mix(16 * i, 32 * i)
		sum += _mix(_size - 16 * (i + 1), 32 * i + 16)
	return _avalanche(sum)


func _hash_to_240() -> int:
	var sum := _size * PRIME64_1
	for i in 8:
		sum += _mix(16 * i, 16 * i)
	sum = _avalanche(sum)
	for i in range(8, _size / 16):
		sum += _mix(16 * i, 16 * (i - 8) + 3)
	return _avalanche(sum + _mix(_size - 16, 119))


func _hash_long() -> int:
	var lanes := [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1]
	# The last stripe ends with the input and may overlap the one before it.
	for stripe in (_size - 1) / STRIPE_BYTES:
		var of_block: int = stripe % STRIPES_PER_BLOCK
		_accumulate(lanes, stripe * STRIPE_BYTES, of_block * 8)
		if of_block == STRIPES_PER_BLOCK - 1:
			_scramble(lanes)
	_accumulate(lanes, _size - STRIPE_BYTES, 121)
	var sum := _size * PRIME64_1
	for i in range(0, LANES, 2):
		sum += _fold(lanes[i] ^ _word(_secret, 11 + 8 * i), lanes[i + 1] ^ _word(_secret, 19 + 8 * i))
	return _avalanche(sum)


func _accumulate(lanes: Array, data_at: int, secret_at: int) -> void:
	_data.seek(data_at)
	_secret.seek(secret_at)
	for i in LANES:
		var low := _data.get_u32()
		var high := _data.get_u32()
		lanes[i ^ 1] += low | (high << 32)
		lanes[i] += (low ^ _secret.get_u32()) * (high ^ _secret.get_u32())


func _scramble(lanes: Array) -> void:
	_secret.seek(128)
	for i in LANES:
		var lane: int = lanes[i]
		lanes[i] = (lane ^ shift_right(lane, 47) ^ _secret.get_64()) * PRIME32_1


func _mix(data_at: int, secret_at: int) -> int:
	var a := _word(_data, data_at) ^ _word(_secret, secret_at)
	return _fold(a, _word(_data, data_at + 8) ^ _word(_secret, secret_at + 8))


# The halves of a 128-bit product, XORed.
static func _fold(a: int, b: int) -> int:
	var a_low := a & LOW_HALF
	var a_high := shift_right(a, 32)
	var b_low := b & LOW_HALF
	var b_high := shift_right(b, 32)
	var low := a_low * b_low
	var middle := a_high * b_low
	var carry := shift_right(low, 32) + (middle & LOW_HALF) + a_low * b_high
	var upper := shift_right(middle, 32) + shift_right(carry, 32) + a_high * b_high
	return upper ^ ((carry & LOW_HALF) << 32 | (low & LOW_HALF))


static func _avalanche(value: int) -> int:
	value = (value ^ shift_right(value, 37)) * PRIME_AVALANCHE
	return value ^ shift_right(value, 32)


# Of an unsigned number. GDScript's own shift copies the sign, and in Godot 4 refuses a negative number.
static func shift_right(value: int, by: int) -> int:
	if value >= 0:
		return value >> by
	return ((value & NOT_NEGATIVE) >> by) | (1 << (63 - by))


static func _word(buffer: StreamPeerBuffer, at: int) -> int:
	buffer.seek(at)
	return buffer.get_64()
