"""The frame of all formats: recognised by content, in bounds, and never with a traceback."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from results_of import DATA, read_bytes, source_of
from tiers import rest_in_ci

from strata.formats.results import Misread, formats, recognised
from strata.formats.results import source as source_module
from strata.parsing import Malformed, json_documents, xml_of

FILES = sorted(p for p in DATA.iterdir() if p.suffix != ".md" and p.name not in ("README.md",))
BOUND_S = 10.0
"""Of a file of some kilobytes, on a machine that does other things as well."""


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_file_is_recognised_whatever_it_is_called(path: Path) -> None:
    content = path.read_bytes()
    there = [one.name for one in formats() if one.recognise(source_of(content).head)]
    assert there, "no format takes it"
    assert recognised(source_of(content, "a.xyz")).name == there[0]
    assert read_bytes(content, path.name).cells or read_bytes(content, path.name).counters
    assert len(content) <= 20 * 1024


def test_every_format_says_what_it_is_and_has_an_order_of_its_own() -> None:
    orders = [one.order for one in formats()]
    assert len(set(orders)) == len(orders) >= 6
    assert all(one.title and one.name for one in formats())


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is empty"),
        (b" \n\n", "it is empty"),
        (b"\x7fELF\x00\x00\x01", "a binary file"),
        (b'{"a": 1}', "JSON of another tool"),
        (b"<?xml version='1.0'?><html><p/></html>", "XML or HTML (html)"),
        (b"the figures of yesterday\n", "text that begins 'the figures of yesterday'"),
    ],
)
def test_what_is_of_no_format_is_described(content: bytes, why: str) -> None:
    with pytest.raises(Misread) as e:
        read_bytes(content)
    assert why in e.value.why


def test_lines_are_whole_whatever_the_pieces() -> None:
    content = "one\r\ntwo µ\nthree".encode()
    for piece in (1, 2, 3, 7, 100):
        assert list(source_of(content, piece=piece).lines()) == ["one", "two µ", "three"]
    assert list(source_of("one\r\ntwo".encode("utf-16")).lines()) == ["one", "two"]


def test_a_line_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "LINE_MOST", 1000)
    with pytest.raises(Misread, match="a line is longer"):
        list(source_of(b"1" * 5000, piece=500).lines())


def test_bytes_that_are_no_utf8_are_taken_for_latin_1() -> None:
    text = (DATA / "fio-mixed.json").read_text().replace('"jobname" : "mixed"', '"jobname" : "m\u00e9"')
    found = read_bytes(text.encode("latin-1"))
    assert found.cells[0].name == "m\u00e9"
    assert any("not UTF-8" in note for note in found.notes)


def test_documents_in_a_text() -> None:
    found, broken = json_documents('x {"a": 1}\n{"b": [2]}\ntext\n [3]\n{"c": ')
    assert [d for _, d in found] == [{"b": [2]}, [3]]
    assert broken is not None
    with pytest.raises(Malformed, match="nested deeper"):
        json_documents("[" * 100_000)


def test_xml_has_neither_a_document_type_nor_entities_nor_depth() -> None:
    with pytest.raises(Malformed, match="document type"):
        xml_of('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>')
    with pytest.raises(Malformed, match="nested deeper"):
        xml_of("<a>" * 1000)
    with pytest.raises(Malformed, match=r"line 2, column \d+"):
        xml_of("<a>\n<b></a>")
    root = xml_of("<a>\n<b k='v'>1</b><b>2</b></a>")
    assert [(b.text, b.line) for b in root.every("b")] == [("1", 2), ("2", 2)]


def _understood_or_refused(content: bytes, name: str) -> None:
    begun = time.monotonic()
    try:
        found = read_bytes(content, name)
    except Misread as e:
        assert e.why
        assert "\n" not in e.why[:1]
    else:
        assert found.model_dump_json()
    assert time.monotonic() - begun < BOUND_S, "time without a bound"


@pytest.mark.parametrize("path", rest_in_ci(FILES, every_day=15), ids=lambda p: p.name)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(path: Path, data: st.DataObject) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, max(0, len(content) - 1)))
        match data.draw(st.sampled_from(["cut", "drop", "put", "number", "repeat"])):
            case "cut":
                del content[start:]
            case "drop":
                del content[start : start + data.draw(st.integers(1, 200))]
            case "put":
                content[start:start] = data.draw(st.binary(max_size=20))
            case "number":
                content[start:start] = data.draw(
                    st.sampled_from([b"-1", b"1e999", b"NaN", b"9" * 50, b"0x", b'"', b";", b",", b"|", b"\n", b"."])
                )
            case _:
                content += content[start : start + 3000]
    _understood_or_refused(bytes(content), path.name)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_noise_is_refused(content: bytes) -> None:
    _understood_or_refused(content, "x_lat.log")
