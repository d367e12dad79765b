"""Files from somebody else, made to hang, to crash or to fill the memory of whoever reads them.

A table of (what is wrong with the file) × (what reads it): each pair runs in a process with little memory and a limit
on its CPU time, and ends with exit code 2 and words that name the file, never with a traceback.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commands import STRATA
from hostile import Outcome, ends_of
from tiers import rest_in_ci

from strata.errors import Exit

READERS: dict[str, Callable[[Path], list[object]]] = {
    "check": lambda file: ["check", file],
    "check --plan": lambda file: ["check", file.parent / "good.csv", "--plan", file],
    "plan --from-trace": lambda file: ["plan", "--from-trace", file],
    "plan --job": lambda file: ["plan", "--job", file, file.parent],
    "plan --profile": lambda file: ["plan", "--profile", file, file.parent],
    "plan STACK": lambda file: ["plan", file],
    "survey STACK": lambda file: ["survey", file],
    "trace --from": lambda file: ["trace", "--from", file],
    "verify --journal": lambda file: ["verify", "--check", "--journal", file],
    "runs --store": lambda file: ["runs", "--store", file],
}
"""Every way in for a file that Strata did not write."""


def saved_trace(head: bytes) -> bytes:
    return b"strata-trace 1\n" + struct.pack("<I", len(head)) + head


def trace_head(events: int, recording: bytes) -> bytes:
    return b'{"targets":[],"names":[],"window_ns":null,"whole":true,"events":%d,"recording":%s}' % (events, recording)


def fio_result(**odd: str) -> bytes:
    v = {"iops": "1", "bytes": "1", "depth": "1", "bs": "4k", "name": "x"} | odd
    side = f'{{"total_ios":1,"iops":{v["iops"]},"bw_bytes":1,"io_bytes":{v["bytes"]},"lat_ns":{{"mean":1}}}}'
    asked = f'{{"iodepth":"{v["depth"]}","bs":"{v["bs"]}"}}'
    return f'{{"jobs":[{{"jobname":"{v["name"]}","read":{side},"job options":{asked}}}]}}'.encode()


def layer(more: bytes) -> bytes:
    return b'[stack]\nname = "x"\n[[layer]]\nname = "a"\nendpoint = "file:/x"\n' + more


def workload(more: bytes) -> bytes:
    return b'title = "x"\nsource = "y"\n[[workload]]\nname = "a"\nrw = "randread"\n' + more


NINES = b"9" * 400
TABLES = {
    "latin1.csv": b"name,iops\ncaf\xe9,1\n",
    "binary.csv": bytes(range(256)) * 40,
    "deep.json": b'{"jobs":' + b"[" * 200_000,
    "deep-closed.json": b'{"jobs":' + b"[" * 900 + b"]" * 900 + b"}",
    "digits.json": fio_result(bytes="9" * 5000),
    "beyond-floats.json": fio_result(iops="9" * 400),
    "not-finite.json": fio_result(iops="NaN"),
    "infinite.json": fio_result(iops="1e999"),
    "depth.json": fio_result(depth="9" * 400),
    "size.json": fio_result(bs="9" * 400 + "k"),
    "half-a-character.json": fio_result(name="\\ud800"),
    "many.json": b'{"jobs":[' + b"{}," * 1_100_000 + b"{}]}",
    "long-cell.csv": b'name,iops\na,"' + b"x" * 300_000 + b'"\n',
    "many-cells.csv": b"a,iops\n1" + b"," * 1_000_000 + b"\n",
    "many-rows.csv": b"iops\n" + b"1\n" * 100_000,
    "one-line.csv": b"a" * 300_000,
}
STILL_TABLES = {
    "spaces-in-a-cell.csv": b"name,iops\na,1" + b" " * 100_000 + b"!\n",
    "spaces-in-a-heading.csv": b"a" + b" " * 100_000 + b"),iops\na,1\n",
    "spaces-in-a-remark.csv": b"#" + b" " * 200_000 + b"\na,iops\n1,2\n",
    "exponents.csv": b"name,iops\na,0e999\nb,1e9999999999\nc,1e" + b"9" * 5000 + b"\nd," + NINES + b"\n",
}
"""What has odd cells and is a table: the odd cells are labels."""
JOBS = {
    "latin1.fio": b"caf\xe9 [x]\nrw=read\n",
    "digits.fio": b"[a]\nrw=read\niodepth=" + b"9" * 5000 + b"\nbs=" + NINES + b"k\nthinktime=" + NINES + b"\n",
    "sections.fio": b"[a]\nrw=read\n" * 5_000,
    "opened.fio": b"[a\n" * 50_000,
    "spaces.fio": b" " * 300_000 + b"!",
    "lines.fio": b"\n" * 300_000 + b"!",
}
NOTES = {
    "tabs.txt": b"fio " + b"\t" * 300_000 + b"x",
    "words.txt": b"fio " + b"- " * 300_000,
    "quotes.txt": b'fio --x="' * 30_000,
    "goes-on.txt": b"fio --rw=read \\\n" * 20_000,
}
TRACES = {
    "head-too-long": b"strata-trace 1\n" + struct.pack("<I", 1 << 26) + b"[]," * 1000,
    "deep": saved_trace(trace_head(0, b"[" * 100_000)),
    "many-values": saved_trace(trace_head(0, b"[" + b"[]," * 1_100_000 + b"[]]")),
    "no-events": saved_trace(trace_head(1 << 63, b"null")),
    "not-ours": saved_trace(trace_head(0, b'{"a":1}')),
    "cut": b"strata-trace 1\n\x01",
    "zeros": b"\0" * 5000,
}
WORDS = {
    "latin1.toml": b'title = "caf\xe9"\n',
    "deep.toml": b"[stack]\nname = " + b"[" * 10_000,
    "deep-closed.toml": b"[stack]\nname = " + b"[" * 150 + b"]" * 150,
    "dotted.toml": b".".join([b"a"] * 300_000) + b" = 1\n",
    "table.toml": b"[" + b".".join([b"a"] * 300_000) + b"]\n",
    "digits.toml": b"[stack]\nname = " + b"9" * 5000,
    "control.toml": b'[stack]\nname = "x\x00y"\n',
    "too-long.toml": b"# x\n" * 300_000,
}
STACKS = {
    "wrong.toml": b'stack = 5\nnode = 7\nlayer = "x"\n',
    "beyond-floats.toml": layer(b"expect.overhead_max = " + NINES),
    "not-finite.toml": layer(b"expect.overhead_max = nan\n"),
    "layers.toml": layer(b"") + b'[[layer]]\nname = "b"\nendpoint = "file:/x"\n' * 15_000,
    "keys.toml": b"".join(b"k%d = 1\n" % n for n in range(80_000)) + layer(b""),
    "below.toml": layer(b"above = [" + b'"q", ' * 2000 + b"]\n") + b'[[layer]]\nname = "b"\n' * 5000,
    "names.toml": layer(b"on = [" + b",\n".join(b'"%d%s"' % (n, b"w" * 9000) for n in range(64)) + b"]\n"),
    "nul.toml": b'[stack]\nname = "x"\n[[layer]]\nname = "a"\nendpoint = "file:/x\\u0000y"\n',
}
PROFILES = {
    "wrong.toml": b'title = 5\nsource = ["y"]\nworkload = ["a"]\n',
    "sizes.toml": workload(b'bs = "' + NINES + b'k"\n'),
    "goals.toml": workload(b'bs = "4k"\ngoals = [{figure = "p99", max = "' + NINES + b's"}]\n'),
    "kinds.toml": workload(b"bs = 4096\ngoals = 5\n").replace(b'"randread"', b"5"),
}
ASKED: list[tuple[str, dict[str, bytes]]] = [
    ("check", TABLES),
    ("check --plan", {"deep.json": TABLES["deep.json"]}),
    ("plan --job", JOBS),
    ("plan --from-trace", NOTES | JOBS | {k: TRACES[k] for k in ("deep", "no-events")}),
    ("trace --from", TRACES),
    ("plan STACK", WORDS | STACKS),
    ("survey STACK", {"deep.toml": WORDS["deep.toml"]}),
    ("plan --profile", WORDS | PROFILES),
    ("runs --store", {"text.db": b"no database\n" * 900, "head-only.db": b"SQLite format 3\0" + b"\xff" * 9000}),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.csv").write_text("name,iops\na,5\n")
    return tmp_path


def ends(folder: Path, reader: str, files: dict[str, bytes]) -> Iterator[tuple[str, Outcome]]:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return zip(files, ends_of([READERS[reader](folder / name) for name in files]), strict=True)


@pytest.mark.parametrize(("reader", "files"), rest_in_ci(ASKED, every_day=4), ids=[reader for reader, _ in ASKED])
def test_a_hostile_content_is_refused_in_words(folder: Path, reader: str, files: dict[str, bytes]) -> None:
    wanted = {1} if "store" in reader else {2}
    for name, ended in ends(folder, reader, files):
        assert not ended.crashed and ended.code in wanted, (name, ended)
        assert name in ended.err and "error: " in ended.err and len(ended.err) < 20_000, (name, ended)


def test_odd_cells_of_a_table_take_no_time_and_are_labels(folder: Path) -> None:
    for name, ended in ends(folder, "check", STILL_TABLES):
        assert not ended.crashed and ended.code in (Exit.FINE, Exit.INCONCLUSIVE), (name, ended)


def test_what_is_no_regular_file_is_not_waited_for(folder: Path) -> None:
    made = {"fifo": "a fifo", "socket": "a socket", "folder": "a directory", "zero": "a character device"}
    files = {kind: folder / f"{kind}.toml" for kind in made}
    os.mkfifo(files["fifo"])
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(files["socket"]))
        files["folder"].mkdir()
        files["zero"].symlink_to("/dev/zero")
        # What is under a folder is what survey is for.
        asked = [(r, kind) for r in READERS for kind in files if (r, kind) != ("survey STACK", "folder")]
        for one, ended in zip(asked, ends_of([READERS[r](files[kind]) for r, kind in asked]), strict=True):
            assert ended.code == 2 and not ended.crashed and made[one[1]] in ended.err, (one, ended)


def test_a_file_without_end_is_not_read_to_its_end(folder: Path) -> None:
    file = folder / "endless.toml"
    with file.open("wb") as f:
        f.write(saved_trace(trace_head(1 << 63, b"null")))
        f.truncate(8 << 40)
    asked = [reader for reader in READERS if reader not in ("verify --journal", "runs --store")]
    for reader, ended in zip(asked, ends_of([READERS[reader](file) for reader in asked]), strict=True):
        assert ended.code == 2 and not ended.crashed and "larger than the limit" in ended.err, (reader, ended)


def test_a_pipe_that_somebody_gave_us_is_read_like_a_file() -> None:
    words = [*STRATA, "check", "/dev/stdin"]
    done = subprocess.run(words, input="name,iops\na,5\n", capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == Exit.INCONCLUSIVE and "1 row" in done.stdout, done.stderr
    without_end = 'exec "$@" < <(yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)'
    words = ["bash", "-c", without_end, "_", *STRATA, "plan", "--job", "/dev/stdin"]
    endless = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert endless.returncode == 2 and "larger than the limit" in endless.stderr, endless.stderr
