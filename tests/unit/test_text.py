"""Text on its way out: what a terminal would obey is shown, and every stream can write what is left."""

from __future__ import annotations

import io
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.errors import RunFailed, Stopped
from strata.report.text_layout import Paint, table
from strata.text import controls, output, plain

ANY = st.text(st.characters(exclude_categories=()), max_size=30)


@given(ANY)
def test_nothing_is_left_that_a_terminal_would_obey(text: str) -> None:
    for shown, kept in ((controls.line(text), ""), (controls.lines(text), "\n\t"), (output.shown(text), "\n\t")):
        for char in shown:
            assert char in kept or unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp"), repr(shown)
            assert unicodedata.bidirectional(char) not in (
                "RLO",
                "LRO",
                "RLE",
                "LRE",
                "PDF",
                "RLI",
                "LRI",
                "FSI",
                "PDI",
            )
    assert controls.line(text).isascii() or not text.isascii()


def test_what_is_shown_says_which_character_it_was() -> None:
    assert controls.line("a\x1b[31m\n\x7f\u202e\udcff\U000e0041é") == (r"a\x1b[31m\x0a\u007f\u202e\udcff\udb40\udc41é")


@given(ANY)
def test_a_json_document_keeps_its_meaning_in_every_encoding(text: str) -> None:
    document = json.dumps({"key": text}, ensure_ascii=False)
    for encoding in ("ascii", "latin-1", "utf-8"):
        sent = plain.exact(output.shown(document), encoding)
        assert json.loads(sent.encode(encoding).decode(encoding)) == {"key": text}


@given(ANY)
def test_every_stream_can_write_every_text(text: str) -> None:
    for encoding in ("ascii", "latin-1", "cp1252", "utf-8"):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors=plain.ERRORS)
        output.say(text, stream)


def test_no_word_for_a_character_has_a_meaning_in_json_or_is_not_ascii() -> None:
    assert all(word.isascii() and word.isprintable() and not set(word) & set('"\\') for word in plain.WORDS.values())


def test_a_name_cannot_hold_a_colour_and_our_own_arrive() -> None:
    painted = output.shown(Paint(True)("name \x1b[31mred\x1b[0m", "bold"))
    assert painted == "\x1b[1mname \\x1b[31mred\\x1b[0m\x1b[0m"


def test_an_error_has_no_more_lines_than_it_says() -> None:
    failed = RunFailed("cannot read", "/a\nhint: rm -rf /", "b\rc", "look\nat", ("one\ntwo",))
    assert len(failed.render().splitlines()) == 3
    assert len(Stopped("a\nb", hint="c\nd").render().splitlines()) == 2


def test_tables_are_laid_out_with_the_words_that_will_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors=plain.ERRORS))
    lines = table(("cell", "change", "mark"), [("a · b", "±5 %", "▼▼"), ("a name longer than it", "0", "…")], 40)
    sent = [plain.written(line) for line in lines]
    assert [line.index(word) for line, word in zip(sent, ("mark", "vv", "..."), strict=True)] == [33] * 3
    assert "a - b" in sent[1]
    assert "+/-5 %" in sent[1]
