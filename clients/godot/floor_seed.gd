# Towers that people name by a text: docs/clients/kit.md. GDScript has no normalisation, so a text is refused if it may
# not be in the form NFC already: then what looks alike would name another tower.
extends Reference

# Ranges of characters, the first and the last of each. White space, controls, and what editors and chats put around
# words without showing it:
const UNSEEN := [
	0, 0x20, 0x7F, 0xA0, 0xAD, 0xAD, 0x1680, 0x1680, 0x180E, 0x180E, 0x2000, 0x200F, 0x2028, 0x202F, 0x205F, 0x2064,
	0x2066, 0x206F, 0x3000, 0x3000, 0xFEFF, 0xFEFF,
]
# All that NFC of Unicode 18 may change or move (combining characters, the Hangul jamo, characters that stand for
# others), halves of surrogate pairs, and some of rare scripts that lie between, which keeps the list short:
const UNSETTLED := [
	0x300, 0x36F, 0x374, 0x374, 0x37E, 0x37E, 0x387, 0x387, 0x483, 0x487, 0x591, 0x5C9, 0x610, 0x61A, 0x64B, 0x65F,
	0x670, 0x670, 0x6D6, 0x6ED, 0x700, 0x74F, 0x7C0, 0x8FF, 0x93C, 0x93C, 0x94D, 0x94D, 0x951, 0x95F, 0x9BC, 0x9BE,
	0x9CD, 0x9CD, 0x9D7, 0x9DF, 0x9FE, 0x9FE, 0xA33, 0xA3C, 0xA4D, 0xA4D, 0xA59, 0xA5E, 0xABC, 0xABC, 0xACD, 0xACD,
	0xB3C, 0xB3E, 0xB4D, 0xB4D, 0xB56, 0xB5D, 0xBBE, 0xBBE, 0xBCD, 0xBCD, 0xBD7, 0xBD7, 0xC3C, 0xC3C, 0xC4D, 0xC56,
	0xCBC, 0xCBC, 0xCC2, 0xCC2, 0xCCD, 0xCD6, 0xD3B, 0xD3E, 0xD4D, 0xD4D, 0xD57, 0xD57, 0xDCA, 0xDCF, 0xDDF, 0xDDF,
	0xE38, 0xE3A, 0xE48, 0xE4B, 0xEB8, 0xEBA, 0xEC8, 0xECB, 0xF18, 0xFC6, 0x102E, 0x102E, 0x1037, 0x103A,
	0x108D, 0x108D, 0x1100, 0x11FF, 0x135D, 0x135F, 0x1714, 0x1734, 0x17D2, 0x17DD, 0x18A9, 0x193B, 0x1A17, 0x1C37,
	0x1CD0, 0x1CF9, 0x1DC0, 0x1DFF, 0x1F71, 0x1FFD, 0x2000, 0x2001, 0x20D0, 0x20DC, 0x20E1, 0x20E1, 0x20E5, 0x20F0,
	0x2126, 0x212B, 0x2329, 0x232A, 0x2ADC, 0x2ADC, 0x2CEF, 0x2CF1, 0x2D7F, 0x2D7F, 0x2DE0, 0x2DFF, 0x302A, 0x302F,
	0x3099, 0x309A, 0xA66F, 0xA69F, 0xA6F0, 0xA6F1, 0xA806, 0xA9C0, 0xAAB0, 0xAAF6, 0xABED, 0xABED, 0xD800, 0xDFFF,
	0xF900, 0xFAD9, 0xFB1D, 0xFB4E, 0xFE20, 0xFE2F, 0x101FD, 0x1D281, 0x1E000, 0x1E94A, 0x2F800, 0x2FA1D,
]
const HEXADECIMAL := "0123456789abcdef"
const DECIMAL := "0123456789"
# 2^64 - 1 and 2^63.
const GREATEST := "18446744073709551615"
const GREATEST_BELOW_ZERO := "9223372036854775808"
# GDScript has signed 64-bit integers only, so this one of FNV-1a is negative.
const FNV_BASIS := -3750763034362895579
const FNV_PRIME := 0x100000001B3


# The seed of the tower that a text names: seed_of("my dungeon"). A number, such as "42", "-1" or "0xff", is the seed
# itself. One of 2^63 or more is the negative number with the same bits. null for a text that problem_of finds wrong.
#
# A text is wrong, too, if it has a combining character or one that could compose with its neighbour, such as U+0301
# after "e", even where no composed form exists, as in Hindi and Thai.
static func seed_of(text: String):
	if problem_of(text) != "":
		return null
	var codes := _codes(text)
	var plain := _plain(codes)
	if not _is_number(plain):
		return _hash(codes)
	var base := 16 if _is_hexadecimal(plain) else 10
	var value := 0
	for digit in _digits(plain):
		value = value * base + HEXADECIMAL.find(digit)
	return -value if plain.begins_with("-") else value


# What a text should be that names no tower, such as "write a number or a word". Empty if it names one.
static func problem_of(text: String) -> String:
	var codes := _codes(text)
	if codes.size() == 0:
		return "write a number or a word"
	for code in codes:
		if _is_in(code, UNSETTLED):
			return "write it composed, or a number: GDScript cannot bring U+%04X into the form NFC" % code
	var plain := _plain(codes)
	if _is_number(plain) and not _is_seed(plain):
		return "a number is -2^63 to 2^64 - 1, decimal, or 0x and up to 16 hexadecimal digits"
	return ""


# The code points but for unseen ones at both ends. One beyond U+FFFF may come as a pair, as from JSON.
static func _codes(text: String) -> Array:
	var codes := []
	for i in text.length():
		var code := text.ord_at(i)
		if codes and (codes[-1] & ~0x3FF) == 0xD800 and (code & ~0x3FF) == 0xDC00:
			codes[-1] = 0x10000 + ((codes[-1] & 0x3FF) << 10) + (code & 0x3FF)
		else:
			codes.append(code)
	while codes and _is_in(codes[-1], UNSEEN):
		codes.pop_back()
	while codes and _is_in(codes[0], UNSEEN):
		codes.pop_front()
	return codes


static func _is_in(code: int, ranges: Array) -> bool:
	for i in range(0, ranges.size(), 2):
		if code >= ranges[i] and code <= ranges[i + 1]:
			return true
	return false


# With the ASCII characters of full-width forms and of the minus sign, and "?" for all others.
static func _plain(codes: Array) -> String:
	var plain := ""
	for code in codes:
		if code >= 0xFF01 and code <= 0xFF5E:
			code -= 0xFEE0
		elif code == 0x2212:
			code = 0x2D
		plain += char(code) if code < 0x80 else "?"
	return plain


static func _is_hexadecimal(plain: String) -> bool:
	return plain.to_lower().begins_with("0x")


# Whether it begins as a hexadecimal number, or is a decimal one.
static func _is_number(plain: String) -> bool:
	return _is_hexadecimal(plain) or _has_only(_digits(plain), DECIMAL)


# Whether a number fits 64 bits.
static func _is_seed(plain: String) -> bool:
	var digits := _digits(plain).lstrip("0")
	if _is_hexadecimal(plain):
		return _has_only(_digits(plain), HEXADECIMAL) and digits.length() <= 16
	var greatest := GREATEST_BELOW_ZERO if plain.begins_with("-") else GREATEST
	return digits.length() < greatest.length() or (digits.length() == greatest.length() and digits <= greatest)


# What follows the sign or 0x.
static func _digits(plain: String) -> String:
	if _is_hexadecimal(plain):
		return plain.substr(2).to_lower()
	return plain.substr(1) if plain.left(1) in ["+", "-"] else plain


static func _has_only(text: String, characters: String) -> bool:
	for character in text:
		if not character in characters:
			return false
	return text != ""


# FNV-1a in 64 bits, of the bytes in UTF-8. The product wraps.
static func _hash(codes: Array) -> int:
	var sum := FNV_BASIS
	for code in codes:
		for byte in _utf8(code):
			sum = (sum ^ byte) * FNV_PRIME
	return sum


static func _utf8(code: int) -> Array:
	if code < 0x80:
		return [code]
	var last := 0x80 | (code & 0x3F)
	if code < 0x800:
		return [0xC0 | (code >> 6), last]
	var third := 0x80 | ((code >> 6) & 0x3F)
	if code < 0x10000:
		return [0xE0 | (code >> 12), third, last]
	return [0xF0 | (code >> 18), 0x80 | ((code >> 12) & 0x3F), third, last]
