"""A node in a mount and a time namespace of its own: with another boot id and another monotonic clock it is another
machine to whoever asks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from absent import absent
from loops import need_root

APART_S = 3600
ELSEWHERE = """
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWTIME = 0x20000, 0x80
if libc.unshare(NEWNS | NEWTIME):
    sys.exit(77)
with open("/proc/self/timens_offsets", "w") as f:
    f.write(f"monotonic {sys.argv[2]} 0")
if libc.setns(os.open("/proc/self/ns/time_for_children", os.O_RDONLY), NEWTIME):
    sys.exit(77)
subprocess.run(["mount", "--make-rprivate", "/"], check=True)
subprocess.run(["mount", "--bind", sys.argv[1], "/proc/sys/kernel/random/boot_id"], check=True)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def another_machine(folder: Path) -> list[str]:
    """Words before a node's own."""
    need_root()
    boot = folder / "boot_id"
    boot.write_text("00000000-0000-4000-8000-000000000001\n")
    words = [sys.executable, "-c", ELSEWHERE, str(boot), str(APART_S)]
    if subprocess.run([*words, "true"], check=False, timeout=20).returncode == 77:
        absent("the kernel has no time namespaces")
    return words
