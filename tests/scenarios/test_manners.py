"""What a newcomer types is understood, or answered with what to type; help and completion say what there is."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from loops import image, loop

from strata.app import names
from strata.cli.examples import EXAMPLES
from strata_lab import shipped


@pytest.mark.parametrize("command", ["", "measure", "lab", "lab up"])
def test_h_is_help_everywhere_and_ends_with_two_examples(strata, command: str) -> None:
    short, long = strata(*command.split(), "-h"), strata(*command.split(), "--help")
    assert (short.returncode, short.stderr) == (0, "")
    assert short.stdout == long.stdout
    lines = short.stdout.rstrip().splitlines()
    assert lines[-5] == "Examples:"
    assert (lines[-3].strip(), lines[-1].strip()) == tuple(line for line, _ in EXAMPLES[command])


def test_the_options_of_measure_are_in_groups(strata) -> None:
    said = strata("measure", "-h").stdout
    headings = re.findall(r"^(\S.*):$", said, re.M)
    for heading in ("What to measure", "Test file and safety", "Duration and precision", "Output"):
        assert heading in headings
    assert "Caches and durability" in headings and "Options" not in headings


@pytest.mark.parametrize(
    ("words", "there"),
    [
        (("diagnose", "-h"), (*names.demos(), *names.profiles())),
        (("measure", "-h"), names.matrices()),
        (("lab", "up", "-h"), shipped.stacks()),
        (("lab", "inject", "-h"), shipped.injections()),
    ],
)
def test_help_lists_the_names_that_can_be_asked_for(strata, words: tuple[str, ...], there: tuple[str, ...]) -> None:
    said = re.sub(r"-\n\s+", "-", strata(*words).stdout)
    assert len(there) >= 3
    assert [name for name in there if not re.search(rf"\b{name}\b", said)] == []


def test_no_command_is_answered_with_the_help_and_no_error(strata) -> None:
    done = strata()
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: ") and "hint" not in done.stderr


QUICK = ("--runtime", "200ms", "--ramp-time", "0", "--progress", "none")


def hint_of(stderr: str) -> str:
    return stderr.split("hint: ")[1].strip()


def pasted(stderr: str, *more: str) -> list[str]:
    """The words of the first whole command in the hint."""
    command = re.search(r"strata ([^;]*?)(?: (?:makes|reads|measures|compares|drafts)\b|;|$)", hint_of(stderr), re.M)
    assert command is not None, stderr
    return [*shlex.split(command[1]), *more]


@pytest.fixture
def mnt(disk: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory ``mnt`` below the current one, with a file in it."""
    folder = disk / "mnt"
    folder.mkdir()
    (folder / "a.dat").write_bytes(bytes(1 << 20))
    monkeypatch.chdir(disk)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("word", ["mnt/a.dat", "./mnt/a.dat", "file:mnt/a.dat", "file:./mnt/a.dat"])
def test_a_path_to_a_file_is_understood_however_it_is_written(strata, mnt: Path, word: str) -> None:
    done = strata("measure", word, *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["endpoint"] == f"file:{mnt / 'a.dat'}"


@pytest.mark.root
def test_a_bare_device_is_a_block_endpoint_that_is_only_read(strata, tmp_path: Path) -> None:
    with loop(image(tmp_path / "image", 16 << 20)) as device:
        done = strata("measure", device, "--rw", "randread", *QUICK, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["endpoint"] == f"block:{device}"
        refused = strata("measure", device, "--rw", "randwrite", *QUICK)
        assert (refused.returncode, hint_of(refused.stderr)) == (
            5,
            f"if everything on it may be lost: --destructive {device}",
        )
        alone = strata("diagnose", device)
        assert pasted(alone.stderr) == ["measure", f"block:{device}"]
        assert strata("survey", f"block:{device}").returncode == 0


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (("--filename=mnt/a.dat",), "strata measure file:mnt/a.dat"),
        (
            [
                "--name=j",
                "--filename",
                "mnt/a.dat",
                "--rw=randread",
                "--direct=1",
                "--ioengine",
                "libaio",
                "--ramp_time=0",
            ],
            "strata measure file:mnt/a.dat --name=j --rw=randread --ramp-time=0",
        ),
        (("--directory=mnt", "--filename=a.dat", "--blocksize=8k"), "strata measure file:mnt/a.dat --bs=8k"),
    ],
)
def test_fios_words_are_answered_with_ours_and_these_hold(
    strata, mnt: Path, typed: tuple[str, ...], answer: str
) -> None:
    done = strata("measure", *typed)
    assert (done.returncode, hint_of(done.stderr)) == (2, answer)
    assert strata(*pasted(done.stderr, *QUICK)).returncode == 0


def test_a_file_that_is_missing_is_answered_with_what_makes_it(strata, mnt: Path) -> None:
    done = strata("measure", "mnt/new.bin", *QUICK)
    assert done.returncode == 2
    words = pasted(done.stderr, *QUICK, "--size", "8m")
    assert words[:2] == ["measure", f"file:{mnt}/new.bin"]
    assert strata(*words).returncode == 0
    for command in ("verify", "diagnose"):
        again = strata(command, "mnt/b.dat")
        assert again.returncode == 2 and f"did you mean strata {command} mnt/a.dat" in again.stderr


def test_a_stack_file_that_is_missing_is_answered_with_what_drafts_it(strata, mnt: Path) -> None:
    done = strata("diagnose", "mnt/stack.toml")
    assert done.returncode == 2, done.stderr
    assert strata(*pasted(done.stderr)).returncode == 0
    assert strata("plan", "mnt/stack.toml").returncode == 0


def test_one_foreign_file_is_answered_with_what_can_be_done_with_it(strata, mnt: Path) -> None:
    done = strata("diagnose", "mnt/a.dat")
    assert done.returncode == 5
    beside, reads = hint_of(done.stderr).split("; ")
    assert beside.startswith("strata diagnose mnt ")
    assert strata(*pasted(f"hint: {reads}", *QUICK)).returncode == 0
    directory = strata("verify", "mnt")
    assert directory.returncode == 2 and hint_of(directory.stderr) == f"strata verify file:{mnt}/verify.dat"


@pytest.mark.parametrize(("asked", "budget"), [("small", "10s"), ("full", "100s")])
def test_a_matrix_that_is_too_large_is_answered_with_one_that_fits(strata, mnt: Path, asked: str, budget: str) -> None:
    words = ("plan", "file:mnt/a.dat", "--matrix")
    done = strata(*words, asked, "--budget", budget)
    assert done.returncode == 2
    fewer = hint_of(done.stderr).split(", or fewer cells")[1]
    smaller = shlex.split(fewer.split("--matrix ")[1])[0]
    assert smaller != asked
    assert strata(*words, smaller, "--budget", budget).returncode == 0


STACK = """# what I have
[stack]
nmae = "x"

[[layer]]
name = "disk"
endpiont = "file:/x"

[[layer]]
name = "file system"
on = ["dsk"]
endpoint = "file:mnt/a.dat"
expect.overhead = 0.1

[[layers]]
name = "share"
"""


def test_errors_of_a_stack_file_name_the_table_the_line_and_the_keys_there_are(strata, tmp_path: Path) -> None:
    path = tmp_path / "stack.toml"
    path.write_text(STACK)
    said = strata("plan", path).stderr
    for words in (
        "[stack], line 3: there is no key 'nmae'; did you mean 'name'?",
        "[[layer]] 1, line 7: there is no key 'endpiont'; did you mean 'endpoint'? There are: name, endpoint, node,",
        "[[layer]] 2, line 13: there is no key 'overhead'; did you mean 'overhead_max'? There are: overhead_max, so",
        "line 15: there is no key 'layers'; did you mean 'layer'? There are: stack, node, layer",
    ):
        assert words in said
    better = (
        STACK.split("[[layers]]", maxsplit=1)[0]
        .replace("nmae", "name")
        .replace("piont", "point")
        .replace("head =", "head_max =")
    )
    path.write_text(better)
    said = strata("plan", path).stderr
    assert "line 10: layer 'file system' stands on 'dsk', which is not an earlier layer (disk)" in said
    path.write_text(better.replace("dsk", "disk"))
    said = strata("plan", path).stderr
    assert "[[layer]] 2, line 12: endpoint file:mnt/a.dat: the path is not absolute" in said


@pytest.mark.parametrize(
    "words",
    [("survey", "."), ("plan", "mnt"), ("runs",), ("baseline", "list"), ("measure", "null:", *QUICK)],
    ids=lambda words: words[0],
)
def test_a_document_has_the_keys_of_the_guide(strata, mnt: Path, words: tuple[str, ...]) -> None:
    document = json.loads(strata(*words, "--json").stdout)
    page = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "json.md").read_text()
    row = re.search(rf"^\| `{document['schema']}` \|.*\| (.*) \|$", page, re.M)
    section = re.search(rf"^## .*`{document['schema']}`\n(.*?)^#", page, re.M | re.S)
    assert row or section
    keys = re.findall(r"`([a-z_]+)`", row[1] if row else "".join(re.findall(r"^\| (`[^|]*) \|", section[1], re.M)))
    assert set(document) == set(keys)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("diagnose", "--demo", "slow-wre"), "slow-wire"),
        (("plan", "mnt", "--profile", "sql-otlp"), "sql-oltp"),
        (("plan", "mnt", "--layers", "file-system"), "file system"),
        (("lab", "up", "loca"), "local"),
        (("measure", "null:", "--matrix", "smal"), "small"),
    ],
    ids=lambda words: words[-1] if isinstance(words, tuple) else None,
)
def test_a_name_that_there_is_not_is_answered_with_the_one_that_was_meant(
    strata, mnt: Path, words: tuple[str, ...], meant: str
) -> None:
    done = strata(*words)
    assert done.returncode == 2, done.stderr
    assert hint_of(done.stderr).startswith(f"did you mean {meant}? choose one of: ")


def test_what_is_too_small_for_one_block_is_answered_with_a_size_that_is_not(strata, mnt: Path) -> None:
    done = strata("measure", "file:mnt/new.dat", "--size", "1m", *QUICK)
    assert done.returncode == 2 and "workload.segments" not in done.stderr
    assert strata("measure", "file:mnt/new.dat", *shlex.split(hint_of(done.stderr)), *QUICK).returncode == 0
    (mnt / "empty").touch()
    done = strata("measure", "mnt/empty", *QUICK)
    assert done.returncode == 2 and "it is empty" in done.stderr


def test_no_hint_asks_for_what_was_typed_and_no_headline_has_two_colons(strata, mnt: Path) -> None:
    for words in (("measure",), ("trace",), ("verify",)):
        done = strata(*words)
        assert done.returncode == 2 and "::" not in done.stderr
        assert pasted(done.stderr)[1:2] != []


CHEAP = ("strata lab list --all", "strata runs", "strata baseline list")


@pytest.mark.parametrize("line", CHEAP)
def test_cheap_examples_run_as_they_stand(strata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    assert any(line == example for examples in EXAMPLES.values() for example, _ in examples)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done = strata(*shlex.split(line)[1:])
    assert done.returncode == 0, done.stderr
