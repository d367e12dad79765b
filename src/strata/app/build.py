"""What must be said about the engine before it measures anything."""

from __future__ import annotations

from strata.engine import build_info


def debug_warning() -> str | None:
    """One line when the engine was compiled without optimisation, else None."""
    if build_info()["profile"] != "debug":
        return None
    return (
        "warning: the engine is a debug build: it is slow, and every result is marked; build it with --release "
        "(make does)"
    )
