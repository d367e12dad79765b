#!/usr/bin/env python3
"""Every parser of what others wrote, under mutations that know the structure of their texts.

    fuzz/parsers.py SECONDS [TARGET …]     so long each target; prints executions and what was found

A target for each format of `strata import` is found by the formats' own list, with the fixtures that it recognises as
seeds; the others are the list at the end. A parser may read or refuse, with the error that it declares; anything else,
or more than `BOUND_S`, is a finding. The everyday suite runs each target a fixed number of times
(`tests/unit/formats/test_fuzz.py`), this command with another seed each time.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import re
import sys
import tarfile
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backports import zstd

from strata.analyse.laws import ask
from strata.app.imported_run import ImportedAs, outcome_of, run_of, with_workloads
from strata.app.imports import mapping_of
from strata.app.profiles import jobs_of
from strata.app.stacks import read_stack
from strata.errors import UsageError
from strata.formats.command_line import commands_in, program_of
from strata.formats.diskspd_command import workload_of_diskspd
from strata.formats.fio_job import job_of_fio_line
from strata.formats.results import PLAIN_TABLE, Format, Misread, Source, formats, read_as, recognised
from strata.formats.table import numbers_not_read, read_table
from strata.host import archives
from strata.model.imported import FileOutcome
from strata.parsing import Malformed

ROOT = Path(__file__).resolve().parent.parent
SEEDS = ROOT / "tests" / "data" / "imports"
TABLES = ROOT / "tests" / "data" / "laws"
ARTIFACTS = ROOT / "fuzz" / "artifacts"
BOUND_S = 10.0
"""Of some kilobytes, on a machine that does other things as well."""
LONGEST = 64 * 1024
CRASHES_MOST = 10
NUMBERS = (
    b"0", b"-1", b"1e999", b"-0.0", b"NaN", b"inf", b"9" * 50, b"18446744073709551616", b"1,5", b"0x10", b"1e-400", b"",
)  # fmt: skip
TOKENS = (
    b'"', b"'", b"{", b"}", b"[", b"]", b"<", b">", b"</", b"<a>", b"&#", b",", b";", b"|", b"\t", b"\n", b"\r", b"%",
    b"=", b":", b"\\", b"(", b")", b"-", b"*", b"#", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\x1b[2J", b"\0", b"null",
)  # fmt: skip
_PARTS = re.compile(rb"[0-9]+(?:[.,][0-9]+)?|[A-Za-z_]+|\s+|.", re.DOTALL)


class Refused(Exception):
    """The parser said no, as it may."""


@dataclass(frozen=True)
class Target:
    """``run`` reads what it is given, raises `Refused`, or has a mistake."""

    name: str
    seeds: tuple[bytes, ...]
    run: Callable[[bytes], None]


@dataclass
class Found:
    """What became of a target. ``crashes``: the input, and what happened."""

    name: str
    executions: int = 0
    understood: int = 0
    slowest_s: float = 0.0
    crashes: list[tuple[bytes, str]] = field(default_factory=list)


def mutated(seeds: Sequence[bytes], draw: random.Random) -> bytes:
    """A seed with one to eight changes."""
    content = draw.choice(seeds)
    for _ in range(draw.choice((1, 1, 2, 3, 8))):
        content = draw.choice(CHANGES)(content, seeds, draw)[:LONGEST]
    return content


def _number(content: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    """Another number in the place of one."""
    parts = _PARTS.findall(content)
    if places := [n for n, part in enumerate(parts) if part[:1].isdigit()]:
        parts[draw.choice(places)] = draw.choice(NUMBERS)
    return b"".join(parts)


def _token(content: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    """A mark or a number in the place of a word."""
    parts = _PARTS.findall(content) or [b""]
    parts[draw.randrange(len(parts))] = draw.choice((*TOKENS, *NUMBERS))
    return b"".join(parts)


def _swapped(content: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    parts = _PARTS.findall(content) or [b""]
    one, other = draw.randrange(len(parts)), draw.randrange(len(parts))
    parts[one], parts[other] = parts[other], parts[one]
    return b"".join(parts)


def _again(content: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    """A word once more, or a thousand times."""
    parts = _PARTS.findall(content) or [b"0"]
    at = draw.randrange(len(parts))
    parts[at:at] = [draw.choice(parts)] * draw.choice((1, 2, 1000))
    return b"".join(parts)


def _lines(content: bytes, seeds: Sequence[bytes], draw: random.Random) -> bytes:
    """Lines lost, repeated, exchanged, or those of another seed between them."""
    lines, other = content.split(b"\n"), draw.choice(seeds).split(b"\n")
    at, end = sorted((draw.randrange(len(lines)), draw.randrange(len(lines))))
    begin = draw.randrange(len(other))
    match draw.randrange(4):
        case 0:
            del lines[at : end + 1]
        case 1:
            lines += lines[at : end + 1]
        case 2:
            lines[at], lines[end] = lines[end], lines[at]
        case _:
            lines[at:at] = other[begin : begin + draw.randrange(1, 20)]
    return b"\n".join(lines)


def _cut(content: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _bit(content: bytes, _: Sequence[bytes], draw: random.Random) -> bytes:
    bits = bytearray(content or b"0")
    bits[draw.randrange(len(bits))] ^= 1 << draw.randrange(8)
    return bytes(bits)


CHANGES = (_number, _number, _token, _token, _swapped, _again, _lines, _lines, _cut, _bit)


def source_of(content: bytes) -> Source:
    """As the import makes one of a file."""
    return Source("x_lat.log", len(content), lambda: iter([content]))


def _by_format(one: Format) -> Callable[[bytes], None]:
    """Read by that format whatever it looks like, and made a run of, as the import does."""

    def run(content: bytes) -> None:
        source = source_of(content)
        one.recognise(source.head)
        try:
            found = read_as(one, source)
        except Misread as e:
            assert e.why, "a refusal without a reason"
            raise Refused from e
        found = with_workloads(found, {"direct": True})
        outcome = FileOutcome(path="x", digest="0" * 64, bytes=len(content), imported=found)
        outcome_of(*run_of(outcome, ImportedAs(), 1))

    return run


def _archive(content: bytes) -> None:
    allowed = archives.Allowance(members=200, unpacked=1 << 24)
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        try:
            kind = archives.kind_of(file.fileno())
            for _, member in archives.members(file.fileno(), kind, allowed) if kind else ():
                assert isinstance(member, str) or os.fstat(member).st_size <= 1 << 24, "more than was allowed"
        except Malformed as e:
            raise Refused from e


def _of_file(read: Callable[[Path], object]) -> Callable[[bytes], None]:
    def run(content: bytes) -> None:
        with tempfile.NamedTemporaryFile(suffix=".toml") as file:
            file.write(content)
            file.flush()
            try:
                read(Path(file.name))
            except UsageError as e:
                raise Refused from e

    return run


def _of_text(read: Callable[[str], object]) -> Callable[[bytes], None]:
    def run(content: bytes) -> None:
        try:
            read(content.decode("utf-8", "replace"))
        except (UsageError, Malformed) as e:
            raise Refused from e

    return run


def _commands(text: str) -> None:
    for line in commands_in(text):
        program = program_of(line)
        if program is not None and program[0] == "diskspd":
            workload_of_diskspd(program[1])
        elif program is not None:
            jobs_of(job_of_fio_line(program[1])[0], "x")


def _checked(text: str) -> None:
    """As `strata check` reads a table: and every law is asked of it."""
    table = read_table(text, "x")
    ask(table)
    numbers_not_read(table)


def _packed() -> Iterator[bytes]:
    """An archive of each kind."""
    content = b"1,2,3\n" * 50
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b.csv", content)
        archive.writestr("c.csv", content)
    yield made.getvalue()
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name in ("a/b.csv", "c" * 150):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    yield made.getvalue()
    yield from (gzip.compress(content), bz2.compress(content), lzma.compress(content), zstd.compress(content))


STACK = b"""[stack]
name = "volume"
stages = true
anchor = "null:"
may_differ = ["host"]
[[layer]]
name = "disk"
endpoint = "file:/mnt/disk/test.dat"
[[layer]]
name = "volume"
on = ["disk"]
measured = ["a.xml", "b.csv"]
of = "E:*"
set = { direct = true, runtime = "60s" }
prepare = "by hand"
"""
MAPPING = b"""[columns]
"Durchsatz" = "rate [MB/s]"
"Remark" = ""
[set]
direct = true
runtime = "60s"
bs = "4k"
"""
DISKSPD = (
    b"-b64K -d60 -W5 -o8 -t4 -r -w30 -Sh -L -D -c10G -z42 -g100i E:\\t.dat",
    b"-b8K -si -t2 -T8k -o4 -rdpct90/10:10/90 -w100 -Z1M F:\\x",
    b"-b4096 -s16384 -T4096 -t2 -o1 -Su -i10 -j5 -x G:\\y",
)
COMMANDS = (
    *(b"diskspd.exe " + words + b"\n" for words in DISKSPD),
    b"sudo fio --name=a --rw=randrw --rwmixread=70 --bs=4k --iodepth=8 --direct=1 --filename=/x --runtime=60 \\\n"
    b" --size=1g\n",
)
JOBS = (
    b"[global]\nioengine=libaio\ndirect=1\nbs=8k\n[a]\nrw=randread\niodepth=16\nnumjobs=2\nstonewall\n[b]\nrw=write\n"
    b"bssplit=4k/10:64k/90\nrate=10m\nthinktime=10us\nrandom_distribution=zipf:1.2\n",
)


def targets() -> Iterator[Target]:
    """All of them."""
    seeds: dict[str, list[bytes]] = {}
    for path in sorted(p for p in SEEDS.iterdir() if p.suffix != ".md"):
        content = path.read_bytes()
        seeds.setdefault(recognised(source_of(content)).name, []).append(content)
    tables = tuple(path.read_bytes() for path in sorted(TABLES.glob("*.csv")))
    for one in formats():
        own = (*seeds.get(one.name, ()), *(tables if one.name == PLAIN_TABLE else ()))
        yield Target(one.name, own, _by_format(one))
    yield Target("archives", tuple(_packed()), _archive)
    yield Target("stack-files", (STACK,), _of_file(read_stack))
    yield Target("mapping-files", (MAPPING,), _of_file(mapping_of))
    yield Target("tables-of-check", tables, _of_text(_checked))
    yield Target("command-lines", COMMANDS, _of_text(_commands))
    yield Target("diskspd-options", DISKSPD, _of_text(lambda text: workload_of_diskspd(text.split())))
    yield Target("fio-job-files", JOBS, _of_text(lambda text: jobs_of(text, "x")))


def fuzzed(target: Target, draw: random.Random, *, times: int | None = None, seconds: float = 0.0) -> Found:
    """So many executions, or for so long; no more than `CRASHES_MOST` crashes."""
    found, until = Found(target.name), time.monotonic() + seconds
    while found.executions < times if times is not None else time.monotonic() < until:
        content = mutated(target.seeds, draw)
        begun = time.monotonic()
        try:
            target.run(content)
            found.understood += 1
        except Refused:
            pass
        except Exception:
            found.crashes.append((content, traceback.format_exc()))
        took = time.monotonic() - begun
        found.executions, found.slowest_s = found.executions + 1, max(found.slowest_s, took)
        if took > BOUND_S:
            found.crashes.append((content, f"it took {took:.1f} s"))
        if len(found.crashes) >= CRASHES_MOST:
            break
    return found


def main(argv: list[str]) -> int:
    """So many seconds for each target, or for those that are named."""
    if not argv or not argv[0].isdecimal():
        print(__doc__, file=sys.stderr)
        return 2
    executions = crashes = 0
    for target in targets():
        if argv[1:] and target.name not in argv[1:]:
            continue
        found = fuzzed(target, random.Random(os.urandom(8)), seconds=float(argv[0]))
        executions, crashes = executions + found.executions, crashes + len(found.crashes)
        print(
            f"{found.name}: {found.executions} executions, {found.understood} read, slowest "
            f"{found.slowest_s * 1000:.0f} ms, {len(found.crashes)} crashes", flush=True,
        )  # fmt: skip
        for number, (content, why) in enumerate(found.crashes):
            ARTIFACTS.mkdir(exist_ok=True)
            path = ARTIFACTS / f"{found.name}-{number}"
            path.write_bytes(content)
            print(f"{path}:\n{why}")
    print(f"{executions} executions in all, {crashes} crashes")
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
