"""What schemes say of their headers is whole: each row can be known and measured by the bytes that it asks for."""

from __future__ import annotations

import pytest

from strata.schemes import SCHEMES
from strata.schemes.declared import Message, Number

SPOKEN = [(scheme.name, message) for scheme in SCHEMES.values() for message in scheme.messages]


@pytest.mark.parametrize(("scheme", "message"), SPOKEN)
def test_a_row_asks_for_no_byte_behind_its_header(scheme: str, message: Message) -> None:
    row = message.row()
    held = row["holds"]
    assert isinstance(held, list) and held, "nothing tells it from others"
    assert all(at < message.header and byte & mask == byte and mask for at, mask, byte in held if mask or byte)
    assert message.role in ("question", "more", "part", "reply", "other")
    numbers = [n for n in (message.tag, message.brings, *message.length) if n is not None]
    assert all(n.at + n.bytes <= message.header <= 128 and n.bytes <= 8 for n in numbers)
    assert (message.tag is None) == (message.role == "other")
    assert message.deed in ("", "read", "write", "sync") and (not message.deed or message.role == "question")


def test_questions_and_replies_of_a_protocol_carry_one_tag() -> None:
    assert {name for name, _ in SPOKEN} == {"nbd", "nfs", "iscsi", "smb"}
    for name, scheme in SCHEMES.items():
        if scheme.messages:
            widths = {m.tag.bytes for m in scheme.messages if m.tag is not None}
            assert len(widths) == 1, name
            assert {"question", "reply"} <= {m.role for m in scheme.messages}, name


def test_bytes_and_bits_of_a_row_are_told_one_by_one() -> None:
    row = Message("reply", ((0, "668e"), (5, "01", "03")), 20, 20, Number(8, 8)).row()
    assert row["holds"] == [(0, 255, 0x66), (1, 255, 0x8E), (5, 3, 1)]
    assert row["tag"] == {"at": 8, "bytes": 8, "mask": 2**64 - 1, "scale": 1, "pad": 1}
