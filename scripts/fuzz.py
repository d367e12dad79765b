#!/usr/bin/env python3
"""Both sides of the NBD parser under libFuzzer, guided by coverage. Standard library only.

    fuzz.py run SECONDS     build the targets and fuzz each of them so long, all at once
    fuzz.py shrink          replace the committed seeds by the least set of inputs that covers as much as the corpus

Needs a C++ compiler for libFuzzer itself. Coverage is asked of the stable compiler by flags: neither a nightly
toolchain nor cargo-fuzz takes part. Address checks would need a nightly one; the parser has no unsafe code, so what
there is to find are panics, overflows (checked here), endless loops and too much memory.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

FUZZ = Path(__file__).resolve().parent.parent / "fuzz"
TARGETS = ("client_replies", "server_handshake")
LONGEST_SEED = 512
FEWEST = 10_000
"""Executions below which a run has shown nothing."""
COVERAGE = (
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
)
LIMITS = ("-timeout=5", "-rss_limit_mb=512", "-max_len=4096", "-print_final_stats=1")


def main(argv: list[str]) -> int:
    """Run one command; returns its exit status."""
    if len(argv) == 2 and argv[0] == "run":
        return run(int(argv[1]))
    if argv == ["shrink"]:
        return shrink()
    print(__doc__, file=sys.stderr)
    return 2


def build() -> Path:
    """The targets, instrumented; the folder they are in."""
    told = subprocess.check_output(["rustc", "-vV"], text=True)
    host = next(line.removeprefix("host: ") for line in told.splitlines() if line.startswith("host: "))
    # With a named target the flags do not reach build scripts, which could not be linked with them.
    flags = {"CARGO_ENCODED_RUSTFLAGS": "\x1f".join(COVERAGE), "CARGO_TARGET_DIR": str(FUZZ / "target")}
    words = ["cargo", "build", "--locked", "--release", "--quiet", "--target", host]
    subprocess.check_call(words, cwd=FUZZ, env=os.environ | flags)
    return FUZZ / "target" / host / "release"


def run(seconds: int) -> int:
    """Fuzz all targets at once from the seeds and what earlier runs left in `fuzz/corpus`."""
    binaries = build()
    (FUZZ / "artifacts").mkdir(exist_ok=True)
    for name in TARGETS:
        unpack(name, FUZZ / "corpus" / name)
    ended = fuzzed(binaries, TARGETS, f"-max_total_time={seconds}", seconds + 120)
    # Beside a full machine those seconds may be hardly any processor time: as many inputs as show something, then.
    if few := [name for name, (status, said) in ended.items() if status == 0 and executed(said) < FEWEST]:
        ended |= fuzzed(binaries, few, f"-runs={FEWEST}", 600)
    return max(judge(name, *ended[name]) for name in TARGETS)


def fuzzed(binaries: Path, targets: Iterable[str], until: str, seconds: int) -> dict[str, tuple[int, str]]:
    """Exit status and words of each target, all at once ``until`` (an option of libFuzzer), for ``seconds`` at most."""
    running, said = {}, {}
    try:
        for name in targets:
            words = [binaries / name, FUZZ / "corpus" / name, until, *LIMITS]
            words.append(f"-artifact_prefix={FUZZ / 'artifacts'}/{name}-")
            running[name] = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for name, process in running.items():
            said[name] = process.communicate(timeout=seconds)[0]
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    return {name: (process.returncode, said[name]) for name, process in running.items()}


def executed(said: str) -> int:
    """Inputs that a target says it executed."""
    done = re.search(r"stat::number_of_executed_units:\s*(\d+)", said)
    return int(done[1]) if done else 0


def judge(name: str, status: int, said: str) -> int:
    """Tell what one target found; 0 when it is nothing."""
    inputs_done = executed(said)
    covered = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", said)
    loaded = re.search(r"\((\d+) inline 8-bit counters\)", said)
    edges, features, inputs = covered[-1] if covered else ("0", "0", "0")
    told = f"{edges} of {loaded[1] if loaded else '?'} edges, {features} features, {inputs} inputs"
    print(f"  {name}: {inputs_done} executions, {told}", file=sys.stderr)
    if status == 0 and inputs_done >= FEWEST:
        return 0
    print(said[-4000:], file=sys.stderr)
    why = "found something" if status else f"executed only {inputs_done} inputs"
    print(f"error: fuzzing {name} {why}", file=sys.stderr)
    print(f"hint: run the target on the input again, it is in {FUZZ / 'artifacts'}", file=sys.stderr)
    return 1


def unpack(name: str, corpus: Path) -> None:
    """The committed seeds (one input a line, hexadecimal) as the files that libFuzzer reads."""
    corpus.mkdir(parents=True, exist_ok=True)
    for number, line in enumerate((FUZZ / "seeds" / f"{name}.hex").read_text().split()):
        (corpus / f"seed-{number}").write_bytes(bytes.fromhex(line))


def shrink() -> int:
    """The least set of inputs with the coverage of all, for each target."""
    binaries = build()
    for name in TARGETS:
        corpus = FUZZ / "corpus" / name
        unpack(name, corpus)
        with tempfile.TemporaryDirectory() as least:
            words = [binaries / name, f"-max_len={LONGEST_SEED}", "-set_cover_merge=1", least, corpus]
            subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
            inputs = sorted((p.read_bytes() for p in Path(least).iterdir()), key=lambda b: (len(b), b))
        (FUZZ / "seeds" / f"{name}.hex").write_text("".join(f"{one.hex()}\n" for one in inputs if one))
        print(f"  {name}: {len(inputs)} inputs, {sum(map(len, inputs))} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
