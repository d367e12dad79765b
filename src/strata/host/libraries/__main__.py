"""The child: a question on standard input, its answer on standard output."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable

from strata.host.libraries.answering import QUESTIONS
from strata.host.libraries.gluster import Gluster
from strata.host.libraries.rbd import Rbd
from strata.host.libraries.store import Address, ObjectStore

PR_SET_PDEATHSIG = 1

STORES: dict[str, Callable[[Address, float], ObjectStore]] = {"rbd": Rbd, "gluster": Gluster}


def main() -> None:
    """Answers and ends, without taking a library down in good order: nothing is left in it that counts."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # Libraries print where they like; the answer has a descriptor of its own.
    out = os.dup(1)
    os.dup2(2, 1)
    line = sys.stdin.readline()
    if not line:
        return
    question = json.loads(line)
    try:
        store = STORES[question["library"]](question["address"], question["patience_s"])
        answer, data = QUESTIONS[question["what"]](store, question)
    except OSError as e:
        answer, data = {"errno": e.errno, "said": e.strerror or str(e)}, b""
    with os.fdopen(out, "wb") as answers:
        answers.write(json.dumps(answer).encode() + b"\n" + data)
    sys.stderr.flush()
    os._exit(0)


main()
