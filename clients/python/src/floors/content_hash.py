"""The content hash: XXH3-64 of an encoded floor without the hash itself.

The bytes are hashed as they were received. So fields that this version does not know count like all others.
"""

from __future__ import annotations

from xxhash import xxh3_64_intdigest

from floors.errors import HashMismatchError, InvalidFloorError
from floors.wire import FIXED64, WireError, fields

_HASH_FIELD = 3
_SPEC_TAG = 0x0A  # field 1, bytes
_VERSION_TAG = 0x10  # field 2, varint
_HASH_TAG = 0x19  # field 3, fixed64
_HASH_LENGTH = 9  # with its tag


def verify(encoded: bytes) -> int:
    """The content hash in an encoded floor, checked against the bytes.

    Raises:
        HashMismatchError: The floor carries another hash.
        InvalidFloorError: The bytes are no message, or hold more than one hash.
    """
    start = _after_version(encoded)
    if start < 0:
        start = _find(encoded)
    if start < 0:  # a floor whose hash is 0 has no hash field, since encoding omits defaults
        carried, computed = 0, xxh3_64_intdigest(encoded)
    else:
        end = start + _HASH_LENGTH
        carried = int.from_bytes(encoded[start + 1 : end], "little")
        computed = xxh3_64_intdigest(encoded[:start] + encoded[end:])
    if carried != computed:
        raise HashMismatchError(carried, computed)
    return carried


def _after_version(encoded: bytes) -> int:
    """The position of the hash if it comes after the spec and a version below 128, where servers write it; or -1."""
    if len(encoded) < 2 or encoded[0] != _SPEC_TAG or encoded[1] >= 0x80:
        return -1
    at = 2 + encoded[1]
    head = encoded[at : at + 3]
    if len(head) == 3 and head[0] == _VERSION_TAG and head[1] < 0x80 and head[2] == _HASH_TAG:
        return at + 2 if len(encoded) >= at + 2 + _HASH_LENGTH else -1
    return -1


def _find(encoded: bytes) -> int:
    """The position of the hash anywhere in the floor; or -1."""
    try:
        found = [field for field in fields(encoded) if field.number == _HASH_FIELD]
    except WireError as error:
        raise InvalidFloorError(f"the bytes are no floor: {error}") from error
    if len(found) > 1:
        raise InvalidFloorError(f"the floor carries {len(found)} content hashes, not one")
    if found and found[0].wire_type != FIXED64:
        raise InvalidFloorError("the content hash is no fixed64")
    return found[0].end - _HASH_LENGTH if found else -1
