package floors

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Seed returns the seed of the tower that a text names, the same in every client. White space and invisible characters
// at both ends do not count, and the rest is brought into the form NFC of Unicode. A number, also in full-width digits,
// is the seed itself: -2^63 to 2^64 - 1 in decimal, where a negative one counts down from 2^64, or hexadecimal after
// 0x. Of any other text the seed is the 64-bit FNV-1a hash of its UTF-8 bytes.
//
// The text is wrong if it is empty, a number that is no seed, or not UTF-8.
func Seed(text string) (uint64, error) {
	if !utf8.ValidString(text) {
		return 0, fmt.Errorf("the seed %q is not UTF-8: write a number or a word", text)
	}
	name := norm.NFC.String(strings.TrimFunc(text, isUnseen))
	if name == "" {
		return 0, errors.New("the seed is empty: write a number or a word")
	}
	plain := strings.Map(halfWidth, name)
	if isNumber(plain) {
		seed, err := number(plain)
		if err != nil {
			const right = "-2^63 to 2^64 - 1 in decimal, or 0x and up to 16 hexadecimal digits"
			return 0, fmt.Errorf("the seed %s is no number of 64 bits: write %s", plain, right)
		}
		return seed, nil
	}
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return hash.Sum64(), nil
}

// isNumber says whether a text is digits after a sign or none, or begins as a hexadecimal number.
func isNumber(text string) bool {
	digits := text
	if strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		digits = text[1:]
	}
	return isHexadecimal(text) || digits != "" && strings.Trim(digits, "0123456789") == ""
}

func number(text string) (uint64, error) {
	if isHexadecimal(text) {
		return strconv.ParseUint(text[2:], 16, 64)
	}
	if strings.HasPrefix(text, "-") {
		seed, err := strconv.ParseInt(text, 10, 64)
		return uint64(seed), err
	}
	return strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, 64)
}

func isHexadecimal(text string) bool {
	return strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
}

// isUnseen says whether a character is white space, a control, or what editors and chats put around words without
// showing it.
func isUnseen(c rune) bool {
	switch {
	case c <= ' ', c >= 0x7f && c <= 0xa0, c >= 0x2000 && c <= 0x200f, c >= 0x2028 && c <= 0x202f,
		c >= 0x205f && c <= 0x2064, c >= 0x2066 && c <= 0x206f:
		return true
	}
	return c == 0xad || c == 0x1680 || c == 0x180e || c == 0x3000 || c == 0xfeff
}

// halfWidth returns the ASCII character of a full-width form, and of the minus sign.
func halfWidth(c rune) rune {
	switch {
	case c >= 0xff01 && c <= 0xff5e:
		return c - 0xfee0
	case c == 0x2212:
		return '-'
	default:
		return c
	}
}
