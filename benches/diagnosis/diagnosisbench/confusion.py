"""What was put in against what was named, as text and as a picture."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from diagnosisbench.judge import Judged
from strata.model.finding import Cause, VerdictKind

CELL, LEFT, TOP, FONT = 24, 190, 150, 12
RIGHT_INK, WRONG_INK, QUIET_INK = "#2b7a4b", "#b3402e", "#8a8f98"
NO_VERDICT = "no verdict"
SILENT = {"inconclusive", NO_VERDICT, Cause.UNEXPLAINED.value}


def said(case: Judged) -> str:
    """In one word what was named first."""
    if case.failed:
        return NO_VERDICT
    kind = case.verdict.kind
    return kind.value if kind in (VerdictKind.INCONCLUSIVE, VerdictKind.HEALTHY) else case.first.cause.value


def put_in(case: Judged) -> str:
    """In one word what was."""
    return " + ".join(limit.what for limit in case.truth.limits) or "healthy"


def text(cases: Sequence[Judged]) -> str:
    """A line for each thing that was put in: how many, how many right, and what was said instead."""
    rows = []
    for what in sorted({put_in(c) for c in cases}):
        mine = [c for c in cases if put_in(c) == what]
        wrong = Counter(said(c) for c in mine if not c.right_cause)
        others = ", ".join(f"{name} {n}" for name, n in wrong.most_common())
        rows.append(f"{what:34} {len(mine):4} {sum(c.right_cause for c in mine):4} right   {others}".rstrip())
    return "\n".join(rows)


def svg(cases: Sequence[Judged]) -> str:
    """Rows: what was put in; columns: what was named first. Green is right, red is wrong, grey says nothing."""
    rows, columns = sorted({put_in(c) for c in cases}), sorted({said(c) for c in cases}, key=lambda s: (s in SILENT, s))
    count = Counter((put_in(c), said(c)) for c in cases)
    right = Counter((put_in(c), said(c)) for c in cases if c.right_cause)
    of = Counter(put_in(c) for c in cases)
    width, height = LEFT + CELL * len(columns) + 60, TOP + CELL * len(rows) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif"'
        f' font-size="{FONT}"><rect width="100%" height="100%" fill="white"/>'
    ]
    parts.append(f'<text x="12" y="{TOP - 8}" fill="{QUIET_INK}">put in ↓   named first →</text>')
    for x, name in enumerate(columns):
        at = LEFT + CELL * x + CELL / 2 + 4
        parts.append(f'<text transform="translate({at},{TOP - 8}) rotate(-55)">{html.escape(name)}</text>')
    for y, name in enumerate(rows):
        at = TOP + CELL * y
        parts.append(f'<text x="{LEFT - 8}" y="{at + 16}" text-anchor="end">{html.escape(name)}</text>')
        parts.append(f'<text x="{LEFT + CELL * len(columns) + 8}" y="{at + 16}" fill="{QUIET_INK}">{of[name]}</text>')
        parts += [
            _cell(LEFT + CELL * x, at, count[name, c], right[name, c], of[name], c) for x, c in enumerate(columns)
        ]
    return "\n".join([*parts, "</svg>\n"])


def _cell(x: float, y: float, n: int, right: int, of: int, column: str) -> str:
    ink = RIGHT_INK if 2 * right > n else QUIET_INK if column in SILENT else WRONG_INK
    box = f'<rect x="{x}" y="{y}" width="{CELL - 1}" height="{CELL - 1}"'
    if not n:
        return f'{box} fill="#f4f5f7"/>'
    shade = 0.25 + 0.75 * n / of
    return (
        f'{box} fill="{ink}" fill-opacity="{shade:.2f}"/>'
        f'<text x="{x + CELL / 2}" y="{y + 16}" text-anchor="middle" fill="white">{n}</text>'
    )


def draw(cases: Sequence[Judged], into: Path) -> Path:
    """A PNG where a browser is there to make it of the SVG; else the SVG itself. What was written."""
    picture = svg(cases)
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        return _as_svg(picture, into)
    from strata.host import programs

    browser = programs.find("chromium-headless-shell")
    if browser is None:
        return _as_svg(picture, into)
    try:
        with sync_playwright() as p:
            page = p.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page()
            page.set_content(f"<body style='margin:0'>{picture}</body>")
            page.locator("svg").screenshot(path=str(into))
    except Error:
        return _as_svg(picture, into)
    return into


def _as_svg(picture: str, into: Path) -> Path:
    path = into.with_suffix(".svg")
    path.write_text(picture)
    return path
