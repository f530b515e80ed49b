"""Towers that people name by a text. The rules are those of docs/clients/kit.md."""

from __future__ import annotations

import re
import unicodedata

_UNSEEN_RANGES = (
    (0, 0x20),
    (0x7F, 0xA0),
    (0xAD, 0xAD),
    (0x1680, 0x1680),
    (0x180E, 0x180E),
    (0x2000, 0x200F),
    (0x2028, 0x202F),
    (0x205F, 0x2064),
    (0x2066, 0x206F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
_UNSEEN = "".join(chr(code) for first, last in _UNSEEN_RANGES for code in range(first, last + 1))
"""White space, controls, and what editors and chats put around words without showing it."""
_HALF_WIDTH = {0x2212: "-", **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}}
"""The ASCII characters of full-width forms, and of the minus sign."""
_LONGEST_DECIMAL = 20
"""Digits of 2**64 - 1."""


def seed(text: str) -> int:
    """The seed of the tower that a text names, the same in every client: `seed("my dungeon")`.

    White space and invisible characters at both ends do not count, and the rest is brought into the form NFC of
    Unicode. A number, also in full-width digits, is the seed itself: -2**63 to 2**64 - 1 in decimal, where a negative
    one counts down from 2**64, or hexadecimal after 0x. Of any other text the seed is the 64-bit FNV-1a hash of its
    UTF-8 bytes.

    Raises:
        TypeError: It is no text.
        ValueError: The text is empty, a number that is no seed, or no Unicode.
    """
    if not isinstance(text, str):
        raise TypeError(f"seed {text!r} is no text: write a number or a word, such as 'my dungeon'")
    name = unicodedata.normalize("NFC", text.strip(_UNSEEN))
    if not name:
        raise ValueError(f"seed {text!r} is empty: write a number or a word")
    plain = name.translate(_HALF_WIDTH)
    is_hexadecimal = plain.startswith(("0x", "0X"))
    if not is_hexadecimal and not re.fullmatch("[+-]?[0-9]+", plain):
        return _fnv1a(_utf8(name))
    number = _hexadecimal(plain) if is_hexadecimal else _decimal(plain)
    if number is None or not -(2**63) <= number < 2**64:
        raise ValueError(
            f"seed {text!r} is no number of 64 bits: write -2**63 to 2**64 - 1 in decimal, or 0x and up to 16 "
            "hexadecimal digits"
        )
    return number % 2**64


def _hexadecimal(text: str) -> int | None:
    return int(text, 16) if re.fullmatch("..[0-9a-fA-F]+", text) else None


def _decimal(text: str) -> int | None:
    """The number of a sign or none and digits; None for one that Python might refuse for its length."""
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _LONGEST_DECIMAL:
        return None
    return -int(digits) if text.startswith("-") else int(digits)


def _utf8(name: str) -> bytes:
    try:
        return name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"seed {name!r} has half of a surrogate pair: write whole characters") from None


def _fnv1a(name: bytes) -> int:
    """FNV-1a in 64 bits."""
    value = 0xCBF29CE484222325
    for byte in name:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value
