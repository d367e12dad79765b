"""What `strata emit` writes is read again as the same workloads, and no target's name in it becomes a command."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import tree_sitter_powershell
from hypothesis import given
from hypothesis import strategies as st
from tree_sitter import Language, Parser

from strata.app.emit import emit
from strata.errors import SafetyRefusal, UsageError
from strata.formats.command_line import commands_in, program_of
from strata.formats.diskspd_command import workload_of_diskspd
from strata.formats.scripts import forms
from strata.formats.scripts.powershell import quoted
from strata.model.workload import Workload
from strata.plan.words import workload_from_words
from strata.plan.workloads import DIAGNOSE

GRAMMAR = Parser(Language(tree_sitter_powershell.language()))
FORMS = [form.name for form in forms()]
TIMES = {"size": 1 << 26, "rounds": 2, "ramp_s": 0.0, "runtime_s": 1.0, "seed": 1}
DISKSPD = [name for name in FORMS if name in ("diskspd", "powershell")]


def apart_from_seed(workload: Workload) -> Workload:
    return workload.model_copy(update={"seed": 1})


def test_every_workload_is_there_in_every_round_with_a_seed_of_its_own() -> None:
    text = emit("diskspd", r"X:\t.dat", **TIMES)
    found = [program_of(line) for line in commands_in(text)][1:]
    read = [workload_of_diskspd(words) for _, words in filter(None, found)]
    assert not [one.complaints for one in read if one.complaints]
    again = [workload_from_words(**one.words) for one in read]
    assert sorted(w.key for w in again) == sorted(2 * [w.key for w in DIAGNOSE])
    assert len({w.seed for w in again}) == len(again) == 2 * len(DIAGNOSE)
    assert {apart_from_seed(w) for w in again} == {apart_from_seed(w) for w in DIAGNOSE}
    assert [w.key for w in again[: len(DIAGNOSE)]] != [w.key for w in again[len(DIAGNOSE) :]]


@pytest.mark.parametrize("form", FORMS)
def test_the_same_words_give_the_same_text_and_another_seed_another_order(form: str) -> None:
    text = emit(form, "/mnt/t.dat", **TIMES)
    assert text == emit(form, "/mnt/t.dat", **TIMES)
    assert text != emit(form, "/mnt/t.dat", **TIMES | {"seed": 2})
    assert "\r" not in text and text.endswith("\n")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("target", ["", "a\nb", "a\x1b[2Jb", "-c", "a\u202eb", "a\x00b"])
def test_a_name_that_no_script_can_hold_is_refused(form: str, target: str) -> None:
    with pytest.raises(UsageError):
        emit(form, target, **TIMES)


@pytest.mark.parametrize("target", ["/dev/sda", r"\\.\PhysicalDrive1", "X:", "X:\\", "#1", "/dev/mapper/a b"])
@pytest.mark.parametrize("form", FORMS)
def test_a_device_is_written_to_only_where_that_is_said(form: str, target: str) -> None:
    with pytest.raises(SafetyRefusal):
        emit(form, target, **TIMES)
    reads = [w for w in DIAGNOSE if not w.rw.writes]
    if form in DISKSPD or not set("#\\") & set(target):
        text = emit(form, target, reads, **TIMES)
        assert (
            "OVERWRITES" not in text
            and "-c67108864" not in text
            and "Remove-Item" not in text
            and "made=yes" not in text
        )


def test_powershell_makes_the_very_file_that_diskspd_opens_and_replaces_no_other() -> None:
    lines = [line.strip() for line in emit("powershell", "t.dat", **TIMES).splitlines()]
    whole, absent, folder, made, begun = (
        next(at for at, line in enumerate(lines) if part in line)
        for part in (
            "GetUnresolvedProviderPathFromPSPath($target)",
            "Assert-Absent $target",
            "New-Item",
            "::Open($target, 'CreateNew')",
            "try {",
        )
    )
    assert whole < absent < folder < made == begun - 1
    assert all("-NoClobber" in line or "diskspd.txt" in line for line in lines if "Out-File" in line)


def test_what_a_tool_has_no_words_for_is_listed() -> None:
    split = workload_from_words(rw="randread", bssplit="4k/50:8k/50")
    with pytest.raises(UsageError) as told:
        emit("diskspd", r"X:\t", [split, DIAGNOSE[0]], **TIMES)
    assert any("bssplit" in problem for problem in told.value.problems) and split.key in str(told.value.problems)
    assert "bssplit=4096/50:8192/50" in emit("fio", "/t", [split], **TIMES)


def test_a_form_or_a_workload_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="no such form"):
        emit("vdbench", "/t", **TIMES)
    with pytest.raises(UsageError, match="no workload"):
        emit("fio", "/t", only=["nothing*"], **TIMES)


def of_powershell(said: str) -> str:
    """What PowerShell makes of `quoted`: literals, and characters by their number."""
    parts = re.findall(r"'((?:[^']|'')*)'|\[char\]0x([0-9a-f]{4})", said)
    made = b"".join(
        bytes.fromhex(code) if code else text.replace("''", "'").encode("utf-16-be") for text, code in parts
    )
    return made.decode("utf-16-be")


@given(st.text(st.characters(exclude_categories=("Cs", "Cc"))))
def test_powershell_reads_every_word_as_it_was(word: str) -> None:
    said = quoted(word)
    assert said.isascii() and said.isprintable() and of_powershell(said) == word
    literal = r"'(?:[^']|'')*'"
    assert re.fullmatch(
        rf"{literal}|\(-join \((?:{literal}|\[char\]0x[0-9a-f]{{4}})(?:, (?:{literal}|\[char\]0x[0-9a-f]{{4}}))*\)\)",
        said,
    )


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20), st.booleans())
def test_a_grammar_of_powershell_finds_no_mistake_in_the_script(name: str, counters: bool) -> None:
    """Not the language's own parser, which no package registry has; that the grammar finds mistakes is shown too."""
    try:
        text = emit("powershell", name, DIAGNOSE[:1], **TIMES, counters=counters)
    except (UsageError, SafetyRefusal):
        return
    assert not GRAMMAR.parse(text.encode()).root_node.has_error
    for end in ("}", "'", ")"):
        assert GRAMMAR.parse(text[: text.rindex(end)].encode()).root_node.has_error


NAMES = [
    "a b",
    "it's",
    "$(touch gone)",
    "`touch gone`",
    "a;touch gone",
    'q"q',
    "a\\",
    "é",
    "a&b",
    "*",
    "~",
    "END OF THE JOB FILE",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_shell_takes_no_name_for_a_command(name: str, tmp_path: Path) -> None:
    target = str(tmp_path / name)
    try:
        text = emit("shell", target, **TIMES)
    except UsageError:
        assert set(name) & set("$\"'#;\\")
        return
    line = next(line for line in text.splitlines() if line.startswith("target="))
    said = subprocess.run(["sh", "-c", f'{line}; printf %s "$target"'], capture_output=True, text=True, check=True)
    assert said.stdout == target and list(tmp_path.iterdir()) == []
    assert shlex.split(line.removeprefix("target=")) == [target]


@pytest.mark.parametrize("name", ["a%PATH%", 'a"b', "a&b", "a|b", "é", "a^b", "a!b!"])
def test_cmd_gets_no_name_that_it_replaces(name: str) -> None:
    with pytest.raises(UsageError):
        emit("diskspd", rf"X:\{name}", **TIMES)
