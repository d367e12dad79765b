"""Values as they lie in the store: JSON, that of cell results deflated.

A cell result is mostly histograms (base64) and counter samples; deflate makes it several times smaller, and a
commit is as long as the bytes it must bring to the disk that is being measured. The zlib frame also carries a
checksum, so that a damaged result is noticed when it is read. JSON, because it outlives this program: any language
reads it, and reading it runs no code.
"""

from __future__ import annotations

import re
import zlib
from typing import TypeVar

from pydantic import ValidationError

from strata import units
from strata.errors import StoreError
from strata.model.base import Value
from strata.parsing import DIGITS_MOST, Malformed, inflate
from strata.store.errors import UNLIKE, UNLIKE_HINT, why_of

V = TypeVar("V", bound=Value)

LEVEL = 1
"""Of zlib; higher levels took longer than they saved (docs/journal/2026-11-20-store.md)."""

_LONG_NUMBER = re.compile(rf"[:,\[]\s*-?\d{{{DIGITS_MOST}}}")
_AS_ZEROS, _ZEROS = bytes.maketrans(b"123456789", b"000000000"), b"0" * DIGITS_MOST
INFLATED_MOST = 256 * units.MIB
VALUES_MOST = 10_000_000
"""Of a result: half an hour in intervals of a tenth of a second, with every counter, has half of both."""


def to_json(value: Value, what: str) -> str:
    """The saved form of ``value``. Raises `StoreError` where it could not be read back.

    A float that is not finite becomes null in JSON and then fails to load: better said while the value is here.
    """
    text = value.model_dump_json()
    try:
        type(value).model_validate_json(text)
    except ValidationError as e:
        first = e.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise StoreError("cannot save", what, f"it cannot be loaded again: {where}: {first['msg']}") from e
    return text


def from_json(kind: type[V], text: str, what: str, where: str) -> V:
    """Reads what `to_json` wrote. Raises `StoreError`."""
    try:
        if not isinstance(text, str):
            raise Malformed("it is no text")
        # A place for one is found in an eighth of the time that looking for the number takes.
        if _ZEROS in text.encode("utf-8", "surrogatepass").translate(_AS_ZEROS) and _LONG_NUMBER.search(text):
            raise Malformed(f"a number of more than {DIGITS_MOST} digits")
        return kind.model_validate_json(text)
    except UNLIKE as e:
        raise StoreError(f"cannot read {what} from the store", where, why_of(e), UNLIKE_HINT) from e


def pack(value: Value, what: str) -> bytes:
    """`to_json`, deflated."""
    return zlib.compress(to_json(value, what).encode(), LEVEL)


def unpack(kind: type[V], packed: bytes, what: str, where: str) -> V:
    """Reads what `pack` wrote. Raises `StoreError`, also for bytes that were damaged."""
    try:
        text = inflate(packed, INFLATED_MOST).decode()
    except Malformed as e:
        raise StoreError(f"cannot read {what} from the store", where, str(e)) from e
    except UNLIKE as e:
        raise StoreError(f"cannot read {what} from the store", where, f"it is damaged ({e})") from e
    if text.count(",") > VALUES_MOST:
        raise StoreError(f"cannot read {what} from the store", where, f"it holds more than {VALUES_MOST} values")
    return from_json(kind, text, what, where)
