"""Attack: names that a terminal would obey, in every place a name is read. And streams that lack most characters."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from commands import one_after_another
from tiers import rest_in_ci

STRATA = [sys.executable, "-m", "strata"]
HOSTILE = "x\x1b[2J\x1b]0;title\x07\x9b31m\x7f\u202e\rz"
"""Erases the screen, names the window, rings, colours (C1), turns the order of writing."""
IN_A_PATH = os.fsencode(HOSTILE) + b"\xff"
ASCII = ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"})


def assert_harmless(text: str) -> None:
    """Nothing that a terminal obeys; no traceback."""
    assert [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\n\t"] == [], text
    assert "Traceback" not in text, text


WORDS = [
    ("measure", f"file:/{HOSTILE}/no/folder"),
    ("measure", f"{HOSTILE}:/x"),
    ("measure", f"nbd://h/{HOSTILE}:@["),
    ("measure", "null:", "--rw", HOSTILE),
    ("measure", "null:", "--runtime", HOSTILE),
    ("measure", "null:", f"--{HOSTILE}"),
    ("runs", "--store", f"nosql://{HOSTILE}"),
    ("runs", "--store", f"postgresql://{HOSTILE}@127.0.0.1:1/{HOSTILE}"),
    ("measure", "null:", "--job", HOSTILE),
    ("measure", "null:", "--matrix", HOSTILE),
    ("verify", f"smb://u:p@h/{HOSTILE}"),
    ("diagnose", HOSTILE),
    ("diagnose", "--demo", HOSTILE),
    ("diagnose", ".", "--profile", HOSTILE),
    ("plan", HOSTILE),
    ("plan", ".", "--from-trace", HOSTILE),
    ("survey", HOSTILE),
    ("check", HOSTILE),
    ("check", f"/{HOSTILE}"),
    ("compare", HOSTILE),
    ("report", HOSTILE),
    ("gate", "--against", HOSTILE),
    ("baseline", HOSTILE, HOSTILE),
    ("trace", f"/{HOSTILE}"),
    ("target", f"file:/{HOSTILE}"),
    ("lab", "up", HOSTILE),
    ("lab", HOSTILE),
    (HOSTILE,),
]


@pytest.mark.ci
def test_no_word_of_the_command_line_comes_back_as_a_command_to_the_terminal(tmp_path: Path) -> None:
    for words, (status, out, err) in zip(WORDS, one_after_another(WORDS, tmp_path), strict=True):
        assert status != 0, words
        assert_harmless(out + err)


@pytest.mark.ci
def test_a_path_that_is_no_text_is_told_and_saved(tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(IN_A_PATH)
    place.mkdir()
    lines = [["survey", str(place)], ["survey", str(place), "--json"]]
    for words, (status, out, err) in zip(lines, one_after_another(lines, tmp_path), strict=True):
        assert status == 0, err
        assert_harmless(out + err)
        if "--json" in words:
            assert json.loads(out)["survey"]["path"] == str(place)


@pytest.mark.ci
def test_figures_at_a_path_that_is_no_text_are_printed_and_nothing_is_measured_there(tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(IN_A_PATH)
    place.mkdir()
    (place / "t.csv").write_text("bs,iops,rate [MB/s]\n4k,1000,4.096\n")
    lines = [["check", str(place / "t.csv"), "--json"], ["measure", f"file:{place}/f", "--size", "8m"]]
    (status, out, err), (refused, _, why) = one_after_another(lines, tmp_path)
    assert status == 0, err
    assert json.loads(out)["rows"] == 1
    assert_harmless(out + err)
    assert refused == 2
    assert "is not valid text" in why
    assert [p.name for p in place.iterdir()] == ["t.csv"]


def test_foreign_files_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text(f"layer,iops,rate [MB/s],bs\n{HOSTILE.replace(chr(13), '')},1000,400,4k\n")
    job = tmp_path / "job.fio"
    job.write_text(f"[{HOSTILE}]\nrw={HOSTILE}\n")
    stack = tmp_path / "stack.toml"
    stack.write_text(f"[stack]\nname = {json.dumps(HOSTILE)}\n[[layer]]\nname = {json.dumps(HOSTILE)}\n")
    lines = [("check", table), ("plan", tmp_path, "--job", job), ("plan", stack), ("plan", "--from-trace", table)]
    for _, out, err in one_after_another([[*map(str, words)] for words in lines], tmp_path):
        assert_harmless(out + err)


@pytest.mark.ci
def test_the_live_view_and_colours_leave_only_sequences_of_our_own(tmp_path: Path) -> None:
    place = tmp_path / "a\x1b[8mhidden\x07"
    place.mkdir()
    ours = re.compile(r"\x1b\[(\?25[hl]|\d*[ABKG]|2K|[0-9;]*m)")
    seen = on_a_terminal("survey", str(place))
    measured = on_a_terminal("measure", f"file:{place}/f", "--size", "8m", "--runtime", "1200ms", "--ramp-time", "0s")
    assert "\x1b[2K" in measured, "no live view at all"
    assert "\x1b[8m" not in measured
    assert [c for c in ours.sub("", measured) if unicodedata.category(c) == "Cc" and c not in "\r\n\t"] == []
    assert "\x1b[1m" in seen, "no colour at all"
    assert "\x1b[8m" not in seen
    assert r"a\x1b[8mhidden\x07" in seen
    assert [c for c in ours.sub("", seen) if unicodedata.category(c) == "Cc" and c not in "\r\n\t"] == []


def on_a_terminal(*words: str) -> str:
    """Everything that a terminal gets."""
    main, other = pty.openpty()
    with subprocess.Popen(
        [*STRATA, *words], stdout=other, stderr=other, stdin=other, env=os.environ | {"TERM": "xterm"}
    ) as child:
        os.close(other)
        said = b""
        try:
            while data := os.read(main, 65536):
                said += data
        except OSError:
            pass  # the other side was closed
        child.wait(60)
    os.close(main)
    return said.decode()


SAID = {
    "größe": ("survey .", "survey . --json"),
    "size": ("measure --help", "plan .", "measure null: --runtime 20ms --ramp-time 0s"),
}


@pytest.mark.parametrize("env", rest_in_ci(ASCII, every_day=1), ids=["stream", "locale"])
@pytest.mark.parametrize("folder", rest_in_ci(SAID, every_day=1))
def test_a_stream_that_knows_ascii_only_gets_all_that_is_said(env: dict[str, str], folder: str, tmp_path: Path) -> None:
    (place := tmp_path / folder).mkdir()
    lines = [line.split() for line in SAID[folder]]
    for words, (status, out, err) in zip(lines, one_after_another(lines, tmp_path, cwd=place, **env), strict=True):
        assert status == 0, err
        assert (out + err).isascii(), words
        assert "Traceback" not in err
        if "--json" in words:
            assert json.loads(out)["survey"]["path"].encode("utf-8", "surrogateescape") == bytes(place)
        else:
            assert "\\xb7" not in out


def test_a_mistake_of_our_own_is_told_through_the_same_door() -> None:
    script = f"from strata.text.output import open_; open_(); raise ValueError({HOSTILE!a} + chr(181) + chr(0xdcff))"
    for env in ({}, *ASCII):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=os.environ | env, check=False)
        text = done.stderr.decode()
        assert "ValueError: x\\x1b[2J" in text
        assert [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\n\t"] == []
