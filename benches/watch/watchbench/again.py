"""`python again.py SECONDS OUT COMMAND …`: a program that ends by itself, begun again until the time is over.

What it says goes to OUT. What still runs then is interrupted, which some programs answer with what they did.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path


def main(seconds: float, out: str, words: list[str]) -> int:
    """The first status that is none of its interruption's."""
    end = time.monotonic() + seconds
    # What it says is read: with the points of numbers as everywhere.
    environment = os.environ | {"LC_ALL": "C"}
    with Path(out).open("wb") as said:
        while (left := end - time.monotonic()) > 0:
            with subprocess.Popen(words, stdout=said, stderr=said, env=environment) as running:
                # A wait with a time would look again and again, and sleep: a watching takes that for the load's pause.
                over = threading.Timer(left, running.send_signal, (signal.SIGINT,))
                over.start()
                status = running.wait()
                over.cancel()
                if status and time.monotonic() < end:
                    return status
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2], sys.argv[3:]))
