"""Systems in which nothing is installed but what a test puts there: Debian 12 below a folder.

A command runs in namespaces of its own: mounts, processes and network end with it, also when it or the test is killed;
what is left is a folder. There is no network but loopback, so nothing can be fetched that a package does not hold.

Of another architecture the programs run under qemu, which the kernel of a namespace of users is told of: this machine's
own list of interpreters stays as it is.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

PACKAGES = ("python3.11", "python3.11-venv", "man-db", "bash-completion", "zsh", "fish")
"""What the packages ask for, and with what man pages and completions are looked at."""
FOREIGN = ("python3.11", "python3.11-venv", "libstdc++6", "bash", "coreutils")
"""Of another architecture: what Strata runs with. Unpacked: to install them is to run all their scripts under qemu.

libstdc++6 is numpy's and scipy's; where apt is installed it is, too.
"""
EMULATORS = Path("/usr/lib/binfmt.d")
"""Where qemu-user-static says how each architecture's programs are known."""
INSIDE = """
set -eu
root=$1; shift
ip link set lo up
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 dev "$root/dev"
for node in null zero full random urandom tty; do
  touch "$root/dev/$node"; mount --bind "/dev/$node" "$root/dev/$node"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm"; mount -t tmpfs shm "$root/dev/shm"
mkdir "$root/dev/pts"; mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
"""
APART = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child", "--propagation", "private"),
)
EMULATING = """
set -eu
emulator=$1; shift
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
cat "$emulator" > /proc/sys/fs/binfmt_misc/register
exec "$@"
"""


def emulator(machine: str) -> Path:
    """How the kernel is told to run programs of this architecture."""
    return EMULATORS / f"qemu-{machine}.conf"


def foreign_base(cache: Path, machine: str, debian: str) -> Path:
    """The archive of a system of another architecture, which has nothing but `FOREIGN`, unpacked."""
    made = cache / f"debian-12-{machine}-{hashlib.sha256(' '.join(FOREIGN).encode()).hexdigest()[:8]}.tar"
    if not made.exists():
        cache.mkdir(parents=True, exist_ok=True)
        fresh = cache / "fresh.tar"
        fresh.unlink(missing_ok=True)
        words = ("--quiet", "--variant=extract", f"--architectures={debian}", "--skip=check/qemu")
        subprocess.run(["mmdebstrap", *words, f"--include={','.join(FOREIGN)}", "bookworm", str(fresh)], check=True)
        fresh.rename(made)
    return made


def base(cache: Path) -> Path:
    """The system as an archive, made once for as long as the folder is kept and the same packages are asked for."""
    made = cache / f"debian-12-{hashlib.sha256(' '.join(PACKAGES).encode()).hexdigest()[:8]}.tar"
    if not made.exists():
        cache.mkdir(parents=True, exist_ok=True)
        fresh = cache / "fresh.tar"
        fresh.unlink(missing_ok=True)
        words = [
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            f"--include={','.join(PACKAGES)}",
            "bookworm",
            str(fresh),
        ]
        subprocess.run(words, check=True)
        fresh.rename(made)
    return made


def emulated(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A command in a namespace of users, whose interpreters of programs are its own; ten minutes at the most.

    It waits for its users, all of them and each as himself, and ends where nobody names them.
    """
    waits = ["unshare", "--user", "bash", "-c", 'echo; read -r _ && exec "$@"', "waits", *argv]
    pipe = subprocess.PIPE
    with subprocess.Popen(waits, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdout is not None
        if child.stdout.readline():
            for users in ("uid_map", "gid_map"):
                Path(f"/proc/{child.pid}/{users}").write_text("0 0 4294967295\n")
        try:
            out, err = child.communicate("go\n", timeout=600)
        except subprocess.TimeoutExpired:
            child.kill()
            raise
    return subprocess.CompletedProcess(argv, child.returncode, out, err)


class Root:
    """One system below a folder of its own."""

    def __init__(self, folder: Path, emulator: Path | None = None) -> None:
        self.folder, self.emulator = folder, emulator

    @classmethod
    def of(cls, archive: Path, folder: Path, emulator: Path | None = None) -> Root:
        """What an archive holds."""
        folder.mkdir()
        # Devices are given by `INSIDE`, from this machine.
        words = ["tar", "--extract", "--numeric-owner", "--exclude=./dev/*", "--file", str(archive)]
        subprocess.run([*words, "--directory", str(folder)], check=True)
        return cls(folder, emulator)

    def run(self, *words: str, check: bool = True, **environ: str) -> subprocess.CompletedProcess[str]:
        """A command inside, to its end; ten minutes at the most."""
        given = [f"{name}={value}" for name, value in environ.items()]
        argv = ["bash", "-c", INSIDE, "clean-root", str(self.folder), *given, *words]
        if self.emulator is None:
            done = subprocess.run([*APART, *argv], capture_output=True, text=True, check=False, timeout=600)
        else:
            done = emulated([*APART, "bash", "-c", EMULATING, "emulating", str(self.emulator), *argv])
        assert not check or done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def put(self, *files: Path) -> None:
        """Copies of files, in /tmp of the system."""
        for file in files:
            shutil.copy2(file, self.folder / "tmp" / file.name)

    def files(self, below: Sequence[str] = ("usr", "etc", "opt", "var")) -> set[str]:
        """Every path there is, but what package managers and man write down for themselves."""
        noted = ("var/lib/dpkg", "var/lib/rpm", "var/cache", "var/log", "usr/lib/sysimage")
        found: set[str] = set()
        for top in below:
            for folder, folders, names in os.walk(self.folder / top):
                at = os.path.relpath(folder, self.folder)
                if at.startswith(noted):
                    folders.clear()
                    continue
                found |= {f"{at}/{name}" for name in (*folders, *names)}
        return {path for path in found if not path.startswith(noted)}

    def remove(self) -> None:
        """The folder; nothing of it is mounted, or this would reach what is mounted there."""
        mounted = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        assert not [at for at in mounted if at.startswith(f"{self.folder}/")]
        shutil.rmtree(self.folder)
