"""What the programs of this folder have in common."""

from __future__ import annotations

from collections.abc import Callable

from strata.errors import StrataError
from strata.text.output import note, open_


def status_of(serve: Callable[[], None]) -> int:
    """Serves to its end; the exit status. What was wrong is said on stderr."""
    open_()
    try:
        serve()
    except StrataError as e:
        note(e.render())
        return e.exit_code
    return 0
