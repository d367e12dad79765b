#!/usr/bin/env python3
"""Everything between a fresh clone and a running Strata. Standard library only.

    house.py setup            the environment and the native engine, release build
    house.py run [ARGS …]     setup, then `strata ARGS` (without ARGS: the main job on this directory's disk)
    house.py test [ARGS …]    setup, what the tests need, every check and every test (ARGS go to pytest)
    house.py quick [BASE]     within a minute: lints, and the unit tests of what changed since BASE (main)
    house.py check            formatters, linters, type checker, floor plan
    house.py soak MINUTES     setup, then load without a pause: nothing is lost, nothing grows
    house.py fuzz SECONDS     both sides of the NBD parser, and every parser of files, under a fuzzer, so long each
    house.py docs             the pages of docs/ and of the public interface, into docs/_build; a warning fails
    house.py changelog        what the next release brings, from changelog.d/; nothing is written
    house.py packages [ARGS]  wheels, deb, rpm and container image into dist/, with hashes (scripts/packages.py)
    house.py same-packages    builds them again in another clone and folder: other bytes fail (scripts/same_packages.py)
    house.py release VERSION  the next version: numbers, CHANGELOG.md and a commit with a tag (scripts/release.py)
    house.py test-packages    installs what is in dist/ in clean roots and uses it; root
    house.py lock             resolve requirements/*.in into the hashed locks

A step is skipped when a stamp holds the hash of everything it depends on.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BIN = VENV / "bin"
STAMPS = ROOT / ".stamps"
CORE = ROOT / "src" / "strata" / "_core.abi3.so"
SECONDS_OF_FUZZING = 20 if os.environ.get("STRATA_SUITE") == "whole" else 5
SECONDS_OF_QUICK = 50
"""No test begins later; the last one may need its time."""
WORKERS = str(2 * min(len(os.sched_getaffinity(0)), 8))
"""Tests that share the machine: two for each core, because they wait half of their time; more were no faster."""
NOT_JUDGED, CALM = "not alone and not calm", "calm and not alone"
NO_PEERS = f"not root and not peer and not browser and not postgres and not slow and {NOT_JUDGED}"
PACKAGES = (ROOT / "src", ROOT / "lab" / "src")
"""Where `strata` and `strata_lab` lie."""
PATH = os.pathsep.join(map(str, PACKAGES))
JUDGING = ("tests/contract", "tests/lab", "tests/scenarios")
"""Where tests lie that judge what they measured (`judging`)."""
COMPUTING = [f"tests/unit/{folder}" for folder in ("analyse", "diagnose")]
"""Tests that compute and wait for nothing, as many as tests which judge and mostly wait leave processor time for."""
AFTER_THE_TESTS = ("nice", "-n", "10")
"""Before what runs beside tests: a tenth of their weight, and what they leave."""
WHEN_IDLE = ("chrt", "--idle", "0")
"""Before what runs beside tests that judge what they measured: it gives a processor up as soon as they want it."""
PYTHON = ("src", "lab/src", "tests", "scripts", "benches", "fuzz/parsers.py", "docs/conf.py")
BEGAN = time.monotonic()
KINDS = ("run", "dev", "docs")
"""What .venv can hold; the last two hold the first."""
LOCKS = ("uv", "run", "dev", "docs", "build", "bundle")
BESIDE = {"dev": ("run",), "docs": ("run", "dev"), "bundle": ("run",)}
"""Locks of packages that are installed beside a lock's own: it takes their versions."""
SOURCES = {"bundle": [ROOT / "pyproject.toml", "--extra", "nodes", "--extra", "postgres"]}
"""What is locked where it is no file of `requirements/`: deb, rpm and image hold what pip would install."""
LINTS: list[list[str | Path]] = [
    ["cargo", "fmt", "--all", "--check"],
    ["cargo", "clippy", "--locked", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"],
    [BIN / "ruff", "format", "--check", "--quiet", *PYTHON],
    [BIN / "ruff", "check", "--quiet", *PYTHON],
    [BIN / "mypy"],
    [BIN / "lint-imports", "--no-cache"],
]
# With the engine, as `native` builds it: by themselves their dependencies have other features, and most are then
# compiled again. benches/engine says the same words.
BENCH_PROGRAMS = ["cargo", "build", "--locked", "--release", "--quiet", "-p", "strata-py", "-p", "strata-bench"]
BENCH_PROGRAMS += ["--features", "strata-py/extension-module"]
CARGO_TEST = ["cargo", "test", "--locked", "--workspace", "--quiet"]
CARGO_TEST_ALONE = [
    "cargo",
    "test",
    "--locked",
    "--quiet",
    "-p",
    "strata-proto",
    "--test",
    "shaping",
    "--",
    "--ignored",
]
APT_FOR_TESTS = {
    "fio": "fio",
    "nbdkit": "nbdkit",
    "qemu-io": "qemu-utils",
    "nbdcopy": "libnbd-bin",
    "qemu-storage-daemon": "qemu-system-common",
    "glusterd": "glusterfs-server",
    "smbclient": "smbclient",
    "chromium-headless-shell": "chromium-headless-shell",
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "mkfs.vfat": "dosfstools",
    "pvcreate": "lvm2",
    "cryptsetup": "cryptsetup-bin",
    "losetup": "mount",
    "nsenter": "util-linux",
    "smbd": "samba",
    "smbpasswd": "samba-common-bin",
    "tgtd": "tgt",
    "ganesha.nfsd": "nfs-ganesha-vfs",
    "rpcbind": "rpcbind",
    "sfdisk": "fdisk",
    "ip": "iproute2",
    "c++": "g++",
    "postgres": "postgresql",
    "promtool": "prometheus",
    "man": "man-db",
    "zsh": "zsh",
    "fish": "fish",
}

CARGO_FOR_TESTS = {"s3s-fs": ("0.14.1", "binary")}
"""Peers that no distribution has: version and features of the crate with the program of that name."""
PEERS = ROOT / ".peers"
"""Where they are installed; `tests/contract` looks for them in its `bin`."""


def main(argv: list[str]) -> int:
    """Run one command of the house; returns its exit status."""
    if sys.version_info < (3, 11):  # noqa: UP036  (this script is what runs on an older Python)
        print("error: Strata needs Python 3.11 or newer; run make with PYTHON=python3.11", file=sys.stderr)
        return 2
    commands = {"setup": cmd_setup, "run": cmd_run, "test": cmd_test, "check": cmd_check, "lock": cmd_lock}
    commands |= {"soak": cmd_soak, "fuzz": cmd_fuzz, "docs": cmd_docs, "changelog": cmd_changelog, "quick": cmd_quick}
    commands |= {"packages": cmd_packages, "same-packages": cmd_same_packages}
    commands |= {"test-packages": cmd_test_packages, "release": cmd_release}
    if not argv or argv[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        return commands[argv[0]](argv[1:])
    except subprocess.CalledProcessError as e:
        print(f"error: {' '.join(map(str, e.cmd))} ended with {e.returncode}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def cmd_setup(_: list[str]) -> int:
    """The environment and the native engine."""
    environment("run")
    native()
    compiled(*PACKAGES)
    return 0


def cmd_run(args: list[str]) -> int:
    """The main job; the process is replaced, so that signals and the exit code are Strata's own."""
    cmd_setup([])
    words = args or ["diagnose", ".", "--share", "--html", "strata-report.html"]
    os.execv(BIN / "strata", [str(BIN / "strata"), *words])


def cmd_test(args: list[str]) -> int:
    """All checks and all tests. STRATA_REQUIRE=all (set in CI) turns a skipped peer into a failure."""
    environment("dev")
    system_packages()
    cargo_packages()
    compiled(*PACKAGES)
    # The type checker is one thread for a minute, and a linker is, too: neither waits for the other, nor the tests.
    with ThreadPoolExecutor(3) as beside:
        others = beside.submit(lane, [word for word in LINTS if word[0] != "cargo"], AFTER_THE_TESTS)
        native()
        bench_programs()
        status = lane([word for word in LINTS if word[0] == "cargo"])
        say("tests of the crates (cargo test --no-run)")
        status |= subprocess.call([*CARGO_TEST, "--no-run"], cwd=ROOT)
        if args:
            return status | crates() | lane([CARGO_TEST_ALONE]) | others.result() | pytest(args)
        # The shared part leaves no processor time over, and the calm part more than half: what computes runs beside
        # that, at the scheduler's lowest class. The fuzzer ends by the clock: it has its seconds wherever it runs.
        crate_tests = beside.submit(crates, AFTER_THE_TESTS)
        fuzzed = beside.submit(lambda: crate_tests.result() | fuzz(SECONDS_OF_FUZZING, WHEN_IDLE))
        shared = [f"--ignore={folder}" for folder in COMPUTING]
        status |= pytest(["-n", WORKERS, "--dist", "worksteal", "--durations=30", "-m", NOT_JUDGED, *shared])
        status |= others.result() | crate_tests.result()
        computing = beside.submit(compute, WHEN_IDLE)
        status |= pytest(["-n", "2", "--dist", "worksteal", "--durations=15", "-m", CALM, *judging("calm")])
        status |= computing.result() | fuzzed.result()
    status |= lane([CARGO_TEST_ALONE]) | pytest(["--durations=15", "-m", "alone", *judging("alone")])
    say("done")
    return status


def compute(before: Sequence[str]) -> int:
    """The tests that wait for nothing, which may get a processor seldom; ``before``: see `called`."""
    return pytest(["-n", "2", "--dist", "worksteal", "-q", "-o", "timeout=1200", *COMPUTING], before)


def judging(mark: str) -> list[str]:
    """The test files with that mark: to import all others takes longer than to find that they have none."""
    files = sorted(file for folder in JUDGING for file in (ROOT / folder).rglob("test_*.py"))
    return [str(file.relative_to(ROOT)) for file in files if f"mark.{mark}" in file.read_text(encoding="utf-8")]


def crates(before: Sequence[str] = ()) -> int:
    """`cargo test`, as `called` does it."""
    say("cargo test")
    return called(CARGO_TEST, before)


def pytest(words: list[str], before: Sequence[str] = ()) -> int:
    """Its exit status, as `called` does it."""
    say(shlex.join(["pytest", *words]))
    return called([BIN / "python", "-m", "pytest", *words], before)


def called(words: Sequence[str | Path], before: Sequence[str]) -> int:
    """Its exit status; beside others (``before``: by which words) what it says comes in one piece at its end."""
    done = subprocess.run([*before, *words], cwd=ROOT, capture_output=bool(before), check=False)
    if before:
        sys.stderr.buffer.write(done.stdout + done.stderr)
        sys.stderr.flush()
    return done.returncode


def cmd_soak(args: list[str]) -> int:
    """Load on a file, an export and nothing at once for so many minutes."""
    environment("dev")
    native()
    words = ["-m", "slow", "-s", "tests/contract/test_soak.py"]
    minutes = {"STRATA_SOAK_MINUTES": args[0] if args else "30"}
    return subprocess.call([BIN / "python", "-m", "pytest", *words], cwd=ROOT, env=os.environ | minutes)


def cmd_fuzz(args: list[str]) -> int:
    """Coverage-guided fuzzing of the NBD parser, then mutations for the parsers of files, so many seconds a target."""
    seconds = int(args[0]) if args else 300
    environment("dev")
    native()
    files = [BIN / "python", ROOT / "fuzz" / "parsers.py", str(seconds)]
    return fuzz(seconds) | subprocess.call(files, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT / "src")})


def cmd_quick(args: list[str]) -> int:
    """Lints, and the nearest unit tests of what changed, within a minute. Builds nothing; needs an earlier build."""
    import quick

    until = time.time() + SECONDS_OF_QUICK
    if not CORE.exists():
        print("error: the engine is not built yet: make setup", file=sys.stderr)
        return 2
    environment("dev")
    files = quick.changed(args[0] if args else "main")
    tests = quick.chosen(files)
    lints = [word for word in LINTS if word[0] != "cargo"]
    if any(file.endswith(".rs") for file in files):
        print("note: Rust changed: the engine is not built anew, and its tests are not run", file=sys.stderr)
        lints.insert(0, ["cargo", "fmt", "--all", "--check"])
    status = run_lints(lints)
    say(f"pytest {' '.join(quick.ALWAYS)} and {len(tests)} test files of {len(files)} changed files, the nearest first")
    ordered = [*tests[: quick.NEAREST], *quick.ALWAYS, *tests[quick.NEAREST :]]
    words = ["-q", "-p", "quick", "-m", NO_PEERS, *ordered]
    env = os.environ | {"PYTHONPATH": f"{PATH}:{ROOT / 'scripts'}", quick.DEADLINE: str(until)}
    return status | subprocess.call([BIN / "python", "-m", "pytest", *words], cwd=ROOT, env=env)


def cmd_docs(_: list[str]) -> int:
    """HTML of docs/ and of the public interface."""
    environment("docs")
    native()
    out = ROOT / "docs" / "_build"
    status = subprocess.call(
        [BIN / "python", "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", out], cwd=ROOT
    )
    if status == 0:
        print(out / "index.html")
    return status


def cmd_changelog(_: list[str]) -> int:
    """The notes of the next release, as towncrier would put them into CHANGELOG.md."""
    environment("dev")
    return subprocess.call([BIN / "towncrier", "build", "--draft"], cwd=ROOT, stderr=subprocess.DEVNULL)


def cmd_packages(args: list[str]) -> int:
    """Wheels, deb, rpm and image of what is committed, which are built from a clone: the engine here is not asked."""
    environment("dev")
    return subprocess.call([BIN / "python", ROOT / "scripts" / "packages.py", *args], cwd=ROOT)


def cmd_same_packages(args: list[str]) -> int:
    """Whether what is in dist/ is the same bytes when it is built elsewhere."""
    environment("dev")
    return subprocess.call([BIN / "python", ROOT / "scripts" / "same_packages.py", *args], cwd=ROOT)


def cmd_test_packages(args: list[str]) -> int:
    """Each of them installed in a root of its own, and used there."""
    environment("dev")
    words = ["-m", "slow", "tests/packages", *args]
    return subprocess.call([BIN / "python", "-m", "pytest", *words], cwd=ROOT)


def cmd_release(args: list[str]) -> int:
    """The next version: numbers, notes and a commit. Nothing leaves this machine."""
    environment("dev")
    return subprocess.call([BIN / "python", ROOT / "scripts" / "release.py", *args], cwd=ROOT)


def fuzz(seconds: int, before: Iterable[str] = ()) -> int:
    """libFuzzer is C++: without a compiler for it this is left out, in CI it fails."""
    if not found("c++") and os.environ.get("STRATA_REQUIRE") != "all":
        print("note: no C++ compiler, the NBD parser is not fuzzed", file=sys.stderr)
        return 0
    say(f"fuzz ({seconds} s)")
    return subprocess.call([*before, sys.executable, "scripts/fuzz.py", "run", str(seconds)], cwd=ROOT)


def cmd_check(_: list[str]) -> int:
    """One formatter, one linter and one type checker a language, and the floor plan."""
    environment("dev")
    return run_lints(LINTS)


def run_lints(lints: list[list[str | Path]]) -> int:
    """All of them, cargo's beside Python's."""
    lanes = [[word for word in lints if (word[0] == "cargo") is cargo] for cargo in (True, False)]
    with ThreadPoolExecutor(len(lanes)) as pool:
        return max(pool.map(lane, lanes))


def lane(lints: list[list[str | Path]], before: Sequence[str] = ()) -> int:
    """One after the other, whatever the first one finds."""
    status = 0
    for words in lints:
        say(" ".join(str(w).removeprefix(f"{BIN}/") for w in words))
        code = subprocess.call([*before, *words], cwd=ROOT, env=os.environ | {"PYTHONPATH": PATH})
        if code:
            print(f"error: {words[0]} found something", file=sys.stderr)
        status |= code
    return 1 if status else 0


def cmd_lock(_: list[str]) -> int:
    """Resolve the locks anew. They hold versions and hashes and name no host."""
    environment("run")
    for name in LOCKS:
        out = ROOT / "requirements" / f"{name}.lock"
        source = SOURCES.get(name, [ROOT / "requirements" / f"{name}.in"])
        flags = ["--universal", "--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url"]
        beside = [word for other in BESIDE.get(name, ()) for word in ("-c", ROOT / "requirements" / f"{other}.lock")]
        words = [BIN / "uv", "pip", "compile", "-q", *flags, "--python-version", "3.11", *beside, *source, "-o", out]
        subprocess.check_call(words, cwd=ROOT)
    return 0


def environment(kind: str) -> None:
    """.venv with the locked packages of `kind` (run, dev, docs: both others hold run), and ours on its path."""
    files = [ROOT / "requirements" / f"{name}.lock" for name in ("uv", *KINDS)]
    stamp = digest(files, extra=(sys.version, PATH))
    if any(done(there, stamp) for there in (KINDS if kind == "run" else (kind,))):
        return
    if not done("venv", digest([files[0]], extra=(sys.version, str(ROOT)))):
        say("python environment (.venv)")
        shutil.rmtree(VENV, ignore_errors=True)
        subprocess.check_call([sys.executable, "-m", "venv", VENV])
        pip = [BIN / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        subprocess.check_call([*pip, "-r", files[0]])
        mark("venv", digest([files[0]], extra=(sys.version, str(ROOT))))
    say(f"python packages ({kind})")
    lock = ROOT / "requirements" / f"{kind}.lock"
    words = [BIN / "uv", "pip", "install", "--quiet", "--no-config", "--python", BIN / "python", "--require-hashes"]
    subprocess.check_call([*words, "-r", lock])
    # uv leaves the bytecode to the first import, and where PYTHONDONTWRITEBYTECODE is set (containers) every command
    # would compile its libraries anew: `strata runs` then takes twice the processor time.
    compiled(VENV / "lib")
    site = sysconfig.get_path("purelib", "venv", vars={"base": str(VENV), "platbase": str(VENV)})
    Path(site, "strata.pth").write_text("".join(f"{folder}\n" for folder in PACKAGES))
    script = BIN / "strata"
    script.write_text(f"#!{BIN / 'python'}\nfrom strata.cli import main\n\nmain()\n")
    script.chmod(0o755)
    mark(kind, stamp)


def compiled(*folders: Path) -> None:
    """Bytecode for what lies below ``folders``; what has it already costs next to nothing."""
    subprocess.check_call([BIN / "python", "-m", "compileall", "-q", "-j", "0", *folders])


def native() -> None:
    """The engine as `strata._core`, release build, beside the Python sources."""
    sources = [p for p in (ROOT / "crates").rglob("*") if p.suffix in (".rs", ".toml")]
    sources += [ROOT / "Cargo.toml", ROOT / "Cargo.lock", ROOT / "rust-toolchain.toml"]
    stamp = digest(sources)
    if CORE.exists() and done("native", stamp):
        return
    say("native engine (cargo build --release)")
    words = ["cargo", "build", "--locked", "--release", "--quiet", "-p", "strata-py", "--features", "extension-module"]
    subprocess.check_call(words, cwd=ROOT, env=os.environ | {"PYO3_PYTHON": str(BIN / "python")})
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    # A new file and a rename: a running Strata may have the old one mapped.
    fresh = CORE.with_suffix(".new")
    shutil.copy2(target / "release" / "lib_core.so", fresh)
    fresh.replace(CORE)
    mark("native", stamp)


def bench_programs() -> None:
    """The programs of benches/engine, release build: some tests run them, and none should pay for the compiler."""
    say("programs of the engine's benchmark (cargo build --release)")
    subprocess.check_call(BENCH_PROGRAMS, cwd=ROOT, env=os.environ | {"PYO3_PYTHON": str(BIN / "python")})


def system_packages() -> None:
    """The real peers that the tests talk to, from the distribution, where that is ours to do."""
    missing = sorted({package for tool, package in APT_FOR_TESTS.items() if not found(tool)})
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        print(f"note: not installed, their tests are skipped: {' '.join(missing)}", file=sys.stderr)
        return
    say(f"apt-get install {' '.join(missing)}")
    quiet = {"env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL}
    subprocess.check_call(["apt-get", "update", "-qq"], **quiet)
    subprocess.check_call(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing], **quiet)


def cargo_packages() -> None:
    """The real peers that come as the source of a crate: built once, fast to build and not to run."""
    env = os.environ | {"CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_INCREMENTAL": "0"}
    for name, (version, features) in CARGO_FOR_TESTS.items():
        stamp = digest([], extra=(name, version, features))
        if (PEERS / "bin" / name).exists() and done(name, stamp):
            continue
        say(f"{name} {version} (cargo install)")
        words = ["cargo", "install", "--debug", "--locked", "--quiet", "--force", "--root", PEERS]
        words += ["--features", features]
        if subprocess.call([*words, f"{name}@{version}"], cwd=ROOT, env=env):
            print(f"note: not installed, its tests are skipped: {name}", file=sys.stderr)
            continue
        mark(name, stamp)


def found(tool: str) -> bool:
    """Whether the tool is there; sbin and a server's own folder are not on every user's path."""
    versions = [str(p) for p in Path("/usr/lib/postgresql").glob("*/bin")]
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin", *versions])
    return shutil.which(tool, path=path) is not None


def digest(files: Iterable[Path], extra: tuple[str, ...] = ()) -> str:
    """One hash over names and contents."""
    sha = hashlib.sha256("\0".join(extra).encode())
    for path in sorted(files):
        sha.update(str(path).encode() + b"\0" + path.read_bytes() + b"\0")
    return sha.hexdigest()


def done(step: str, stamp: str) -> bool:
    """Whether the step was carried out for exactly this."""
    path = STAMPS / step
    return path.exists() and path.read_text() == stamp and VENV.exists()


def mark(step: str, stamp: str) -> None:
    """Remember that the step was carried out."""
    STAMPS.mkdir(exist_ok=True)
    (STAMPS / step).write_text(stamp)


def say(what: str) -> None:
    """Progress goes to stderr: stdout is for results. With the time since this began."""
    minutes, seconds = divmod(int(time.monotonic() - BEGAN), 60)
    print(f"· {minutes}:{seconds:02} {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
