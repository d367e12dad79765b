"""Uses a share of one CPU before anybody else does, until it is ended: other programs beside a server."""

from __future__ import annotations

import sys
import time

TURN_S = 0.01
"""Of so much it computes its share and rests for the others: as long as a scheduler lets a program compute."""


def main(share: float) -> None:
    """Never returns."""
    turn = time.monotonic()
    while True:
        while time.monotonic() < turn + share * TURN_S:
            pass
        turn = max(turn + TURN_S, time.monotonic())
        time.sleep(max(0.0, turn - time.monotonic()))


if __name__ == "__main__":
    main(float(sys.argv[1]))
