"""A shell script that runs a fio job file, with the system's counters beside it."""

from __future__ import annotations

import shlex

from strata.formats.scripts import Script
from strata.formats.scripts.fio import job

NAME, TITLE = "shell", "a shell script that runs fio and collects counters"
_END = "END OF THE JOB FILE"


def write(script: Script) -> str:
    lines = ["#!/bin/sh", *(f"# {line}" for line in script.head), *_BEGIN.splitlines()]
    at = lines.index("@target")
    lines[at : at + 1] = [f"target={shlex.quote(script.target)}", *([] if script.device else ['absent "$target"'])]
    lines += [] if script.device else _OWN_FILE.splitlines()
    lines += _ENVIRONMENT.splitlines()
    lines += _COUNTERS.splitlines() if script.counters else []
    lines += [f"fio --output-format=json --output=\"$out/fio.json\" - <<'{_END}'", *job(script), _END]
    lines += ['echo "results: $out"', ""]
    return "\n".join(lines)


_BEGIN = """\
# Usage: sh THIS [FOLDER]   results go into FOLDER, which is made (default: strata-results), what
# it ran on into FOLDER.environment.txt
set -eu
out=${1:-strata-results}
fail() { printf 'error: %s\\n' "$1" >&2; exit "$2"; }
absent() { if [ -e "$1" ] || [ -L "$1" ]; then fail "$1 is there already: it is not overwritten" 5; fi; }
@target
command -v fio > /dev/null || fail 'fio is not installed' 1
absent "$out"
absent "$out.environment.txt"
mkdir -- "$out" || fail "the folder $out cannot be made" 5
made= watching=
clean() {
  [ -z "$watching" ] || kill "$watching" 2> /dev/null || :
  [ -z "$made" ] || rm -f -- "$target"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"""
_OWN_FILE = """\
# The file must be a new one: an existing file is not touched.
(set -C; : > "$target") || fail "$target cannot be made" 5
made=yes
"""
_ENVIRONMENT = """\
{
  date -u; uname -a; fio --version
  command -v lsblk > /dev/null && lsblk -o NAME,TYPE,SIZE,ROTA,SCHED,MODEL,MOUNTPOINTS
  command -v findmnt > /dev/null && findmnt -T "$target"
  command -v lscpu > /dev/null && lscpu
  cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
  cat /proc/meminfo /proc/cmdline
} > "$out.environment.txt" 2>&1 || true
"""
_COUNTERS = """\
if command -v iostat > /dev/null; then
  LC_ALL=C iostat -x -t 1 > "$out/iostat.txt" 2>&1 &
  watching=$!
fi
"""
