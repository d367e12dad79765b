"""The table of formats in the guide: ``python -m strata.formats.results.page`` writes the page anew."""

from __future__ import annotations

import re
import sys

from strata.formats.results import formats
from strata.text.output import out

_MADE = re.compile(r"(<!-- made: formats -->\n).*?(<!-- end -->)", re.DOTALL)


def made(page: str) -> str:
    """The page with its table as the modules say it."""
    rows = "".join(f"| `{one.name}` | {one.title} |\n" for one in formats())
    return _MADE.sub(rf"\1| format | of |\n|---|---|\n{rows}\2", page)


if __name__ == "__main__":
    out(made(sys.stdin.read()).rstrip("\n"))
