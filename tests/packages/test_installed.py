"""What `make packages` wrote, each installed in a clean root and used there as a user would."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from absent import absent
from clean_root import Root, base, emulator, foreign_base

import strata
from packages import ARCHITECTURES, HERE, PYTHON
from strata.errors import Exit

ROOT = Path(__file__).resolve().parents[2]
DIST = Path(os.environ.get("STRATA_DIST", ROOT / "dist"))
CACHE = Path(os.environ.get("STRATA_BUILD", ROOT / "build")) / "roots"
pytestmark = [pytest.mark.slow, pytest.mark.root, pytest.mark.timeout(1800)]
WHEEL = f"strata-*_{HERE}.whl"
OTHERS = [machine for machine in ARCHITECTURES if machine != HERE]
DPKG = ("dpkg", "--force-unsafe-io", "--install")
"""Ten thousand files, none of which has to outlive this machine's next second."""
COMPLETES = """
. /usr/share/bash-completion/bash_completion
_completion_loader strata || true
COMP_WORDS=(strata diagnose --demo far); COMP_CWORD=3; COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
_strata_completion strata
echo "${COMPREPLY[@]}"
"""
COMPLETES_IN_ZSH = """
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "PS1=; fpath=($1 \\$fpath); autoload -Uz compinit; compinit -u -D; echo read''y"
zpty -r inner seen '*ready*'
zpty -w -n inner $'strata diagnose --demo far-w\t'
zpty -r inner seen '*far-wire *'
zpty -d inner
"""
"""On a terminal of its own, up to what was begun being whole. $1: a folder of functions that is not zsh's own."""


def made(pattern: str) -> Path:
    """The one file of `dist/` that is meant."""
    found = sorted(DIST.glob(pattern))
    if not found:
        absent(f"{pattern} is not in {DIST}: make packages")
    [one] = found
    return one


@pytest.fixture(scope="module")
def system() -> Path:
    """Debian 12 as an archive."""
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        absent("a clean root needs root and mmdebstrap")
    return base(CACHE)


@pytest.fixture
def clean(system: Path, tmp_path: Path) -> Iterator[Root]:
    root = Root.of(system, tmp_path / "root")
    yield root
    root.remove()


@pytest.fixture(params=OTHERS)
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Root]]:
    """Another architecture's name, and a system of it whose programs run under qemu."""
    machine = str(request.param)
    runs = emulator(machine)
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None or not runs.exists():
        absent(f"a root of {machine} needs root, mmdebstrap and {runs} (qemu-user-static)")
    root = Root.of(foreign_base(CACHE, machine, ARCHITECTURES[machine]), tmp_path / "root", runs)
    yield machine, root
    root.remove()


def works(root: Root, program: str = "strata") -> None:
    """Version; a diagnosis with the programs that it starts, of a stack that is well; the report of it from the store.

    How right a verdict is, other tests ask: here a busy machine may leave it open.
    """
    assert root.run(program, "--version").stdout == f"strata {strata.__version__}\n"
    state = {"XDG_STATE_HOME": "/tmp/state"}
    words = ("diagnose", "--demo", "healthy", "--rounds", "3", "--runtime", "300ms", "--ramp-time", "50ms")
    done = root.run(program, *words, "--json", check=False, **state)
    assert done.returncode in (Exit.FINE, Exit.INCONCLUSIVE), done.stderr
    report = json.loads(done.stdout)
    assert report["verdict"]["kind"] in ("healthy", "medium", "inconclusive")
    assert len(report["cells"]) >= 10 and report["failures"] == []
    assert re.search(r"^VERDICT ", root.run(program, "report", **state).stdout, re.M)


def explained(root: Root, *where: str) -> None:
    """man finds the page of a command by its name, whatever the terminal."""
    for page in ("strata", "strata-diagnose", "strata-lab-up"):
        said = root.run("man", *where, page, MANPAGER="cat", MANWIDTH="100")
        assert said.stdout.startswith(f"{page}(1)") and "Exit status" in said.stdout and said.stderr == ""


def completes(root: Root, share: str = "usr/share", functions: str = "", **environ: str) -> None:
    """Each shell finds its script by the name of the command, and the command answers: bash, zsh and fish are asked.

    PowerShell is not to be had: what is installed for it is what the command itself says. ``functions``: a folder
    that zsh is told of.
    """
    assert root.run("bash", "-c", COMPLETES, **environ).stdout == "far-wire\n"
    zsh = ("timeout", "120", "zsh", "-f", "-c", COMPLETES_IN_ZSH, "zsh", functions)
    assert root.run(*zsh, TERM="dumb", **environ).stderr == ""
    fish = root.run("fish", "-c", "complete -C 'strata diagnose --demo far-w'", **environ)
    assert fish.stdout.startswith("far-wire")
    said = root.run("strata", "completions", "powershell", **environ).stdout
    assert "Register-ArgumentCompleter" in said
    assert (root.folder / share / "strata" / "completions" / "strata.ps1").read_text() == said


def test_the_wheel(clean: Root) -> None:
    wheels = CACHE / "wheels"
    lock = ROOT / "requirements" / "bundle.lock"
    words = ["-m", "pip", "download", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r", lock, "-d", wheels]
    subprocess.run([sys.executable, *map(str, words)], check=True)
    (clean.folder / "tmp" / "wheels").mkdir()
    for wheel in (*wheels.glob("*.whl"), made(WHEEL), made("strata_lab-*.whl")):
        shutil.copy2(wheel, clean.folder / "tmp" / "wheels" / wheel.name)
    clean.run("python3.11", "-m", "venv", "/opt/strata")
    pip = ("/opt/strata/bin/pip", "install", "--quiet", "--no-index", "--find-links", "/tmp/wheels")
    clean.run(*pip, "strata[nodes,postgres]")
    works(clean, "/opt/strata/bin/strata")
    explained(clean, "-M", "/opt/strata/share/man")
    found = {"PATH": "/opt/strata/bin:/usr/bin:/bin", "XDG_DATA_DIRS": "/opt/strata/share:/usr/share"}
    completes(clean, "opt/strata/share", "/opt/strata/share/zsh/site-functions", **found)
    assert "pip install 'strata[lab]'" in clean.run("/opt/strata/bin/strata", "lab", "list", check=False).stderr


def test_the_deb(clean: Root) -> None:
    package = made(f"strata_*_{ARCHITECTURES[HERE]}.deb")
    before = clean.files()
    clean.put(package)
    clean.run(*DPKG, f"/tmp/{package.name}")
    works(clean)
    explained(clean)
    completes(clean)
    # Nothing was written where it is installed: bytecode came with it.
    assert clean.run("dpkg", "--verify", "strata").stdout == ""
    assert json.loads((clean.folder / "usr/share/doc/strata/sbom.cdx.json").read_text())["bomFormat"] == "CycloneDX"
    clean.run("dpkg", "--purge", "strata")
    assert clean.files() - before == set()


def test_the_deb_asks_for_the_python_it_is_built_for(clean: Root) -> None:
    package = made(f"strata_*_{ARCHITECTURES[HERE]}.deb")
    clean.put(package)
    clean.run("dpkg", "--remove", "--force-depends", "python3.11", "python3.11-venv")
    done = clean.run(*DPKG, f"/tmp/{package.name}", check=False)
    assert done.returncode != 0 and "depends on python3.11" in done.stderr


def test_the_rpm(clean: Root) -> None:
    """In Debian's root: of no distribution with rpm is there an archive here, so what it asks for is only looked at."""
    if shutil.which("rpm") is None:
        absent("rpm is not installed")
    package = made(f"strata-*.{HERE}.rpm")
    rpm = ("rpm", "--root", str(clean.folder))
    host = subprocess.run(["rpm", "-qp", "--qf", "%{BUILDHOST}", package], capture_output=True, text=True, check=True)
    assert host.stdout == "localhost"
    asks = subprocess.run(["rpm", "-qp", "--requires", package], capture_output=True, text=True, check=True).stdout
    assert "/usr/bin/python3.11" in asks.split()
    before = clean.files()
    subprocess.run([*rpm, "--install", "--nodeps", "--force-debian", str(package)], check=True)
    works(clean)
    explained(clean)
    # Where zsh of distributions with rpm looks, and Debian's does not.
    completes(clean, functions="/usr/share/zsh/site-functions")
    verified = subprocess.run([*rpm, "--verify", "--nodeps", "strata"], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stdout) == (0, "")
    owned = subprocess.run([*rpm, "-ql", "strata"], capture_output=True, text=True, check=True).stdout.split()
    # A folder of the distribution's own would be in two packages with two modes.
    assert not {"/usr", "/usr/bin", "/usr/lib", "/usr/share", "/usr/share/man", "/usr/share/man/man1"} & set(owned)
    subprocess.run([*rpm, "--erase", "--force-debian", "strata"], check=True)
    # Folders of shells that a distribution with rpm has, whether the shell is installed or not.
    shells = {"zsh": "site-functions", "fish": "vendor_completions.d"}
    theirs = {path for shell, name in shells.items() for path in (f"usr/share/{shell}", f"usr/share/{shell}/{name}")}
    assert clean.files() - before - theirs == set()


def test_the_wheel_of_another_architecture(foreign: tuple[str, Root]) -> None:
    """pip of that architecture takes it; without what it needs, which the deb has."""
    machine, root = foreign
    root.put(wheel := made(f"strata-*_{machine}.whl"))
    root.run(PYTHON, "-m", "venv", "/opt/strata")
    root.run("/opt/strata/bin/pip", "install", "--quiet", "--no-index", "--no-deps", f"/tmp/{wheel.name}")
    said = root.run("/opt/strata/bin/python", "-c", "import platform, strata._core as c; print(platform.machine(), c)")
    assert said.stdout.startswith(f"{machine} <module 'strata._core' from '/opt/strata/")


@pytest.mark.parametrize("kind", ["deb", "rpm"])
def test_packages_of_another_architecture(foreign: tuple[str, Root], kind: str) -> None:
    """Their files, unpacked, run and measure. No other program of theirs is asked, and nothing of how fast it is."""
    machine, root = foreign
    if kind == "deb":
        package = made(f"strata_*_{ARCHITECTURES[machine]}.deb")
        subprocess.run(["dpkg-deb", "--extract", package, root.folder], check=True)
        said = subprocess.run(
            ["dpkg-deb", "--field", package, "Architecture"], capture_output=True, text=True, check=True
        )
        assert said.stdout.strip() == ARCHITECTURES[machine]
    else:
        package = made(f"strata-*.{machine}.rpm")
        if shutil.which("rpm") is None:
            absent("rpm is not installed")
        words = ("--root", root.folder, "--install", "--nodeps", "--force-debian", "--ignorearch")
        subprocess.run(["rpm", *words, package], check=True)
    works(root)


def test_the_image(tmp_path: Path) -> None:
    """Unpacked by a tool for images, and run as its configuration says."""
    if os.geteuid() != 0 or shutil.which("umoci") is None:
        absent("an image is unpacked by root and umoci")
    archive = made(f"strata-*-{ARCHITECTURES[HERE]}.oci.tar")
    (tmp_path / "oci").mkdir()
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", tmp_path / "oci"], check=True)
    name = f"{tmp_path / 'oci'}:{strata.__version__}"
    subprocess.run(["umoci", "unpack", "--image", name, tmp_path / "bundle"], check=True, capture_output=True)
    process = json.loads((tmp_path / "bundle" / "config.json").read_text())["process"]
    assert (process["args"], process["cwd"]) == (["strata", "--help"], "/data")
    assert "XDG_STATE_HOME=/state" in process["env"]
    root = Root(tmp_path / "bundle" / "rootfs")
    try:
        works(root)
        assert root.run("strata", "survey", "/data").returncode == 0
    finally:
        root.remove()


def test_the_hashes_are_those_of_the_files_and_nothing_is_left_out() -> None:
    told = ("SHA256SUMS", "NOTES.md")
    sums = dict(reversed(line.split()) for line in made("SHA256SUMS").read_text().splitlines())
    files = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in DIST.iterdir() if p.name not in told}
    assert sums == files
    assert [path for path in DIST.glob("SBOM.*.json") if json.loads(path.read_text())["bomFormat"] != "CycloneDX"] == []


def test_no_package_says_where_it_was_built() -> None:
    """Paths of a builder would be other bytes elsewhere, and nobody's business."""
    with zipfile.ZipFile(made(WHEEL)) as wheel:
        for name in wheel.namelist():
            text = wheel.read(name)
            assert str(Path.home() / ".cargo").encode() not in text, name
            assert str(ROOT).encode() not in text, name
        assert {
            f"strata-{strata.__version__}.data/data/share/man/man1/strata-{n}.1" for n in ("measure", "lab-up")
        } <= set(wheel.namelist())
