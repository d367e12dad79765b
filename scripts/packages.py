#!/usr/bin/env python3
"""Wheels, deb, rpm and container image of the last commit, the same bytes on every machine of an architecture.

    scripts/packages.py [--only wheel,deb,rpm,image] [--arch x86_64,aarch64] [--out dist] [--build build]

A clone of the commit is built in BUILD: paths are cut out of what the compiler writes, times are those of the commit,
and tools and dependencies are the hashed locks of `requirements/`. OUT has what is for others, with SBOM.*.cdx.json and
SHA256SUMS. The image needs root and Debian's archive, and alone has what the archive has that day. Other architectures
than this machine's are compiled here, too; `ARCHITECTURES` has all of them.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = "python3.11"
"""What deb, rpm and image run on: Debian 12's, and a package of its own in Fedora and the distributions after RHEL."""
NFPM = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2"
GLIBC = "manylinux_2_28"
"""The oldest C library that numpy's wheels run on; ours need no newer one."""
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""What is built for, by the names of the kernel, Rust, wheels and rpm: the names of Debian, Go and images."""
HERE = platform.machine()
KINDS = ("wheel", "deb", "rpm", "image")
IN_PACKAGES = Path("usr/lib/strata")
FOLDERS = 'mkdir -p "$1/data" "$1/state"'
CONFIG = (
    ("entrypoint", "strata"),
    ("cmd", "--help"),
    ("workingdir", "/data"),
    ("volume", "/state"),
    ("env", "XDG_STATE_HOME=/state"),
    ("env", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
)
"""As packaging/Containerfile says it."""
LAUNCHER = """#!/usr/lib/strata/bin/python -I
from strata.cli import main

main()
"""


class Commit:
    """One commit, one folder to build in, one folder for what comes out."""

    def __init__(self, build: Path, out: Path) -> None:
        self.dir, self.out = build.resolve(), out.resolve()
        self.source, self.tools = self.dir / "source", self.dir / "tools"
        self.version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
        self.epoch = said("git", "-C", str(ROOT), "log", "-1", "--format=%ct")
        self.env = {**os.environ, "SOURCE_DATE_EPOCH": self.epoch, "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
        self.env["PATH"] = f"{self.tools / 'bin'}:{self.dir / 'bin'}:{os.environ['PATH']}"

    def run(self, *words: object, cwd: Path | None = None, **more: str) -> None:
        """A program of the build, in the environment that every step has."""
        subprocess.check_call([str(word) for word in words], cwd=cwd or self.dir, env=self.env | more)

    def prepare(self) -> None:
        """The clone, and the tools of the lock."""
        for old in (self.source, self.out):
            shutil.rmtree(old, ignore_errors=True)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.out.mkdir(parents=True)
        if said("git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no"):
            print("note: what is not committed is not in the packages", file=sys.stderr)
        self.run("git", "clone", "--quiet", "--shared", ROOT, self.source)
        if not (self.tools / "bin" / "maturin").exists():
            self.run(sys.executable, "-m", "venv", "--without-pip", self.tools)
        python = ("--python", self.tools / "bin" / "python")
        lock = self.source / "requirements" / "build.lock"
        self.run("uv", "pip", "sync", "--quiet", "--no-config", *python, "--require-hashes", lock, **beside())

    def common(self) -> None:
        """What is the same for all: the lab's wheel, and man pages and completions that pip puts below the prefix."""
        sources = f"{self.source / 'src'}:{self.source / 'lab' / 'src'}"
        data = self.source / "strata._core.data" / "data"
        self.run(sys.executable, self.source / "scripts" / "manual.py", data, PYTHONPATH=sources)
        self.run("python", "-m", "hatchling", "build", "--target", "wheel", "--directory", self.out,
                 cwd=self.source / "lab")  # fmt: skip

    def sums(self) -> None:
        """What `sha256sum --check` reads."""
        files = sorted(p for p in self.out.iterdir() if p.is_file() and p.name != "SHA256SUMS")
        lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in files]
        (self.out / "SHA256SUMS").write_text("".join(lines))
        print("".join(lines), end="")


class Build:
    """A commit for one architecture, in a folder of its own."""

    def __init__(self, commit: Commit, machine: str) -> None:
        self.commit, self.machine, self.arch = commit, machine, ARCHITECTURES[machine]
        self.dir, self.out, self.source, self.version = commit.dir / machine, commit.out, commit.source, commit.version
        self.root = self.dir / "root"
        self.site = self.root / IN_PACKAGES / "lib" / PYTHON / "site-packages"

    def run(self, *words: object, cwd: Path | None = None, **more: str) -> None:
        """As the commit's, in the folder of this architecture."""
        self.commit.run(*words, cwd=cwd or self.dir, **more)

    def wheel(self) -> None:
        """Ours, linked by zig: it has the C library of every architecture."""
        shutil.rmtree(self.root, ignore_errors=True)
        self.dir.mkdir(exist_ok=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR", self.commit.dir / "target")).resolve()
        cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
        cut = {self.source: "/strata", cargo: "/cargo", target: "/target"}
        flags = " ".join(f"--remap-path-prefix={path}={name}" for path, name in cut.items())
        words = ("--locked", "--release", "--strip", "--zig", "--compatibility", GLIBC, "--interpreter", PYTHON)
        # A target that is named leaves crates of other platforms out of the list of parts, and nothing else.
        named = () if self.machine == HERE else ("--target", triple(self.machine))
        made = self.dir / "wheels"
        shutil.rmtree(made, ignore_errors=True)
        self.run("maturin", "build", "--quiet", *words, *named, "--out", made, cwd=self.source,
                 RUSTFLAGS=flags, CARGO_TARGET_DIR=str(target))  # fmt: skip
        [wheel] = made.glob("strata-*.whl")
        self.without_paths(wheel)

    def without_paths(self, wheel: Path) -> None:
        """The wheel anew with an SBOM that does not name the folder it was made in; `wheel pack` makes RECORD."""
        inside = self.dir / "unpacked"
        shutil.rmtree(inside, ignore_errors=True)
        self.run("python", "-m", "wheel", "unpack", "--dest", inside, wheel)
        [sbom] = inside.glob("*/*.dist-info/sboms/*.json")
        sbom.write_text(sbom.read_text().replace(str(self.source), "/strata"))
        shutil.copyfile(sbom, self.parts("rust"))
        [folder] = inside.iterdir()
        self.run("python", "-m", "wheel", "pack", "--dest-dir", self.out, folder)

    def parts(self, kind: str) -> Path:
        """The list of parts of one kind."""
        return self.out / f"SBOM.strata-{self.version}-{self.machine}.{kind}.cdx.json"

    def tree(self) -> None:
        """What deb, rpm and image have below /usr: Strata and all it needs but Python, as a virtual environment."""
        home = self.root / IN_PACKAGES
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "python").symlink_to(f"/usr/bin/{PYTHON}")
        version = PYTHON.removeprefix("python")
        (home / "pyvenv.cfg").write_text(
            f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {version}\n"
        )
        into = ("--quiet", "--no-config", "--target", self.site, "--python-version", version, "--only-binary", ":all:",
                "--python-platform", f"{self.machine}-{GLIBC}", "--link-mode", "copy")  # fmt: skip
        lock = self.source / "requirements" / "bundle.lock"
        self.run("uv", "pip", "install", *into, "--require-hashes", "-r", lock, **beside())
        [wheel] = self.out.glob(f"strata-*_{self.machine}.whl")
        # Unpacked, not installed: a wheel of a path would leave the path behind.
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.site)
        [data] = self.site.glob("strata-*.data")
        shutil.copytree(data / "data" / "share", self.root / "usr" / "share")
        for needless in (data, self.site / "bin", self.site / ".lock"):
            shutil.rmtree(needless) if needless.is_dir() else needless.unlink(missing_ok=True)
        # The commands of others are not handed out; their hashes would be those of a Python's path on this machine.
        for record in self.site.glob("*.dist-info/RECORD"):
            lines = record.read_text().splitlines(keepends=True)
            record.write_text("".join(line for line in lines if not line.startswith("bin/")))
        launcher = home / "bin" / "strata"
        launcher.write_text(LAUNCHER)
        self.papers()
        for folder in (self.root / "usr").rglob("*"):
            if not folder.is_symlink():
                folder.chmod(0o755 if folder.is_dir() or folder == launcher else 0o644)
        self.bytecode()

    def papers(self) -> None:
        """License, list of parts, and pages packed as distributions have them."""
        doc = self.root / "usr" / "share" / "doc" / "strata"
        doc.mkdir(parents=True)
        shutil.copyfile(self.source / "LICENSE", doc / "copyright")
        # The parts are looked for by a Python with a path to them: the one they are for need not be here.
        looker = self.dir / "looker"
        self.run(sys.executable, "-m", "venv", "--clear", "--without-pip", looker)
        [site] = looker.glob("lib/*/site-packages")
        (site / "parts.pth").write_text(f"{self.site}\n")
        sbom = doc / "sbom.cdx.json"
        words = ("--output-reproducible", "--of", "JSON", "--pyproject", self.source / "pyproject.toml", "-o", sbom)
        self.run("cyclonedx-py", "environment", *words, looker / "bin" / "python")
        shutil.copyfile(sbom, self.parts("python"))
        for page in (self.root / "usr" / "share" / "man" / "man1").glob("*.1"):
            page.with_suffix(".1.gz").write_bytes(gzip.compress(page.read_bytes(), 9, mtime=0))
            page.unlink()

    def bytecode(self) -> None:
        """Compiled beforehand: nobody but root may write there, and every start would compile anew."""
        python = shutil.which(PYTHON)
        if python is None:
            raise SystemExit(f"error: {PYTHON} is not installed: it compiles what deb, rpm and image hold")
        words = ("-q", "-f", "--invalidation-mode", "unchecked-hash", "-s", self.root, "-p", "/")
        self.run(python, "-m", "compileall", *words, self.site)

    def package(self, kind: str) -> None:
        """deb or rpm by the one description."""
        if shutil.which("nfpm", path=self.commit.env["PATH"]) is None:
            self.run("go", "install", "-trimpath", NFPM, GOBIN=str(self.commit.dir / "bin"), CGO_ENABLED="0")
        release = PYTHON.replace("thon", "").replace(".", "")
        names = {"VERSION": self.version, "ARCH": self.arch, "PYTHON": PYTHON, "RELEASE": release}
        description = self.source / "packaging" / "nfpm.yaml"
        words = ("package", "--packager", kind, "--config", description, "--target", self.out)
        self.run("nfpm", *words, **{f"STRATA_{name}": value for name, value in names.items()})

    def image(self) -> None:
        """An OCI archive of what packaging/Containerfile describes, made without a daemon."""
        needs = [tool for tool in ("mmdebstrap", "umoci") if shutil.which(tool) is None]
        if needs or os.geteuid() != 0:
            raise SystemExit(f"error: the image needs root and {' and '.join(needs or ('mmdebstrap', 'umoci'))}; "
                             "or leave it out: --only wheel,deb,rpm")  # fmt: skip
        [deb] = self.out.glob(f"*_{self.arch}.deb")
        layout, bundle, system = self.dir / "oci", self.dir / "bundle", self.dir / "system.tar"
        for old in (layout, bundle):
            shutil.rmtree(old, ignore_errors=True)
        name = f"{layout}:{self.version}"
        self.run("umoci", "init", "--layout", layout)
        self.run("umoci", "new", "--image", name)
        self.run("umoci", "unpack", "--image", name, bundle)
        # mmdebstrap leaves neither logs nor lists behind, and no file is younger than SOURCE_DATE_EPOCH.
        hooks = ("--hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount", f"--customize-hook={FOLDERS}")
        words = ("--quiet", "--variant=minbase", f"--include={deb}", *hooks, "bookworm", system)
        self.run("mmdebstrap", *words)
        words = ("--numeric-owner", "--exclude=./dev/*", "--file", system, "--directory", bundle / "rootfs")
        self.run("tar", "--extract", *words)
        when = said("date", "--utc", f"--date=@{self.commit.epoch}", "+%Y-%m-%dT%H:%M:%SZ")
        history = ("--image", name, "--history.created", when)
        self.run("umoci", "repack", *history, bundle)
        config = [f"--config.{key}={value}" for key, value in CONFIG]
        self.run("umoci", "config", *history, "--created", when, "--architecture", self.arch, *config)
        self.run("umoci", "gc", "--layout", layout)
        shutil.rmtree(bundle)
        archive(layout, self.out / f"strata-{self.version}-{self.arch}.oci.tar", int(self.commit.epoch))


def archive(folder: Path, path: Path, when: int) -> None:
    """The folder as a tar file that says nothing of who made it."""

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.mtime, info.uid, info.gid, info.uname, info.gname = when, 0, 0, "", ""
        info.mode = 0o755 if info.isdir() else 0o644
        return info

    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for one in sorted(folder.rglob("*")):
            tar.add(one, str(one.relative_to(folder)), recursive=False, filter=plain)


def triple(machine: str) -> str:
    """How Rust names it."""
    return f"{machine}-unknown-linux-gnu"


def architectures(names: Iterable[str]) -> list[str]:
    """Those that files of these names are for: wheels and rpm end with our name, deb and image with Debian's."""
    ends = {
        ours: re.compile(rf"[._-]({ours}|{debian})\.(whl|deb|rpm|oci\.tar)$") for ours, debian in ARCHITECTURES.items()
    }
    return [ours for ours, end in ends.items() if any(end.search(name) for name in names)]


def absent(machines: Iterable[str]) -> str:
    """What rustc lacks to compile for these; empty where it has all."""
    lack = [triple(one) for one in machines
            if not Path(said("rustc", "--print", "target-libdir", "--target", triple(one))).is_dir()]  # fmt: skip
    return f"rustc has no library for {', '.join(lack)}\nhint: rustup target add {' '.join(lack)}" if lack else ""


def beside() -> dict[str, str]:
    """uv is beside the Python that runs this."""
    return {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def said(*words: str) -> str:
    """What a program prints."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def main() -> int:
    """Makes what is asked for, and what that is made of."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", help=f"kinds, of {','.join(KINDS)} (default: all)")
    parser.add_argument(
        "--arch", default=HERE, help=f"architectures, of {','.join(ARCHITECTURES)} (default: this machine's)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    asked = parser.parse_args()
    kinds, machines = (asked.only or ",".join(KINDS)).split(","), asked.arch.split(",")
    for what, given, known in (("kind", kinds, KINDS), ("architecture", machines, tuple(ARCHITECTURES))):
        if unknown := sorted(set(given) - set(known)):
            parser.error(f"no such {what}: {', '.join(unknown)}; there are {', '.join(known)}")
    if foreign := [one for one in machines if one != HERE and "image" in kinds]:
        why = f"no image of {', '.join(foreign)}: Debian's packages are run to install them, and this is {HERE}"
        if asked.only:
            parser.error(f"{why}; leave it out: --only wheel,deb,rpm")
        print(f"note: {why}", file=sys.stderr)
    if lack := absent(machines):
        raise SystemExit(f"error: {lack}")
    commit = Commit(asked.build, asked.out)
    commit.prepare()
    commit.common()
    for machine in machines:
        build = Build(commit, machine)
        build.wheel()
        made = set(kinds) - ({"image"} if machine in foreign else set())
        if made - {"wheel"}:
            build.tree()
        for kind in ("deb", "rpm"):
            if kind in made or (kind == "deb" and "image" in made):
                build.package(kind)
        if "image" in made:
            build.image()
    commit.sums()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
