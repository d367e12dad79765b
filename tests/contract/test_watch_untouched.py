"""A page of what was kept of a path whose file system does not answer: nobody waits for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

UNANSWERED = """
import ctypes, os, sys, threading
from strata.app import watch_every

where = sys.argv[1]
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0".encode()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"none", where.encode(), b"fuse.sshfs", 0, options):
    sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")


def waits(call):
    asking = threading.Thread(target=call, daemon=True)
    asking.start()
    asking.join(2.0)
    return asking.is_alive()


print(waits(lambda: os.stat(f"{where}/a")), flush=True)
print(waits(lambda: watch_every.newest(f"{where}/a", 60.0, untouched=True)), flush=True)
print(waits(lambda: watch_every.newest(f"{where}/a", 60.0)), flush=True)
# What waits is let go by the kernel with the descriptor.
os._exit(0)
"""


@pytest.mark.root
@pytest.mark.skipif(not Path("/dev/fuse").exists(), reason="no /dev/fuse")
def test_what_was_kept_of_a_path_is_found_without_a_question_to_who_does_not_answer(tmp_path: Path) -> None:
    mount, state = tmp_path / "mount", tmp_path / "state"
    mount.mkdir()
    state.mkdir(mode=0o700)
    # In a mount namespace of its own: whoever else looks at all mounts would wait, too.
    words = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", UNANSWERED, str(mount)]
    env = os.environ | {"STRATA_STATE_DIR": str(state)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["True", "False", "True"], done.stderr
