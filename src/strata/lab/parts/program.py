"""What the programs of this folder have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable

from strata.errors import StrataError


def status_of(serve: Callable[[], None]) -> int:
    """Serves to its end; the exit status. What was wrong is said on stderr."""
    try:
        serve()
    except StrataError as e:
        print(e.render(), file=sys.stderr)
        return e.exit_code
    return 0
