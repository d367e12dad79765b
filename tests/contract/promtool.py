"""Prometheus' own checker, which must find nothing to say."""

from __future__ import annotations

import shutil
import subprocess

from absent import absent


def checked(what: str, text: str) -> None:
    """`promtool check WHAT` of the text; skips where it is not installed, fails with STRATA_REQUIRE=all."""
    if shutil.which("promtool") is None:
        absent("promtool is not installed (package prometheus)")
    words = ["promtool", "check", what, *(["/dev/stdin"] if what == "rules" else [])]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    # Of rules it says how many it found.
    assert what == "rules" or done.stdout + done.stderr == ""
