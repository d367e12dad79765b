"""What every page shares: its head and policy, its list of contents, its style, its script, its figures as CSV.

The policy names the one script by its hash: a script that came in by a name or a path would not run even if it were
not escaped.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from functools import cache

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from strata import units
from strata.model.estimate import Estimate
from strata.report import answer, ends_text, figures, goals, ladder, words
from strata.report.html.charts import svg
from strata.text.controls import FORMULA, lines

FOLDED = 16
"""A list of contents that is longer stands folded."""
_HEADING = re.compile(r'<h2 id="([^"]+)">(.*?)</h2>', re.S)
_TAG = re.compile(r"<[^>]*>")


def _shown(value: object) -> object:
    """What a template places: control characters, and those that turn the order of writing, can be read in it."""
    if not isinstance(value, str):
        return value
    return Markup(lines(value)) if isinstance(value, Markup) else lines(value)


@cache
def environment(*more: BaseLoader) -> Environment:
    """Templates of this folder and of ``more``, everything escaped, a missing name is an error. Made once: to compile
    the templates takes longer than to fill them."""
    env = Environment(
        loader=ChoiceLoader([PackageLoader("strata.report.html", "templates"), *more]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.globals.update(
        units=units, figures=figures, words=words, answer=answer, goals=goals, layer_class=svg.layer_class
    )
    env.globals.update(MEANING=ladder.MEANING, ends_text=ends_text, contents=contents, FOLDED=FOLDED)
    return env


def contents(body: str) -> list[tuple[str, Markup]]:
    """(id, heading) of every section of a rendered body, so that the list cannot be out of step with the page."""
    return [(ident, Markup(_TAG.sub("", heading))) for ident, heading in _HEADING.findall(body)]


def render(
    template: str, csv: str | None, name: str, styles: tuple[str, ...] = (), *, env: Environment | None = None,
    scripts: tuple[str, ...] = (), site: Markup | None = None, **context: object,
) -> str:  # fmt: skip
    """The whole page as one string of HTML. ``csv`` is saved under ``name``, None: there are no figures to save;
    ``styles`` and ``scripts`` are files beside the shared ones; ``site`` stands above everything, where the page is one
    of several."""
    env = env or environment()
    wanted = (*(("script.js",) if csv is not None else ()), *scripts)
    return env.get_template(template).render(
        styles=[Markup(source(env, sheet)) for sheet in ("style.css", *styles)],
        scripts=[Markup(source(env, script)) for script in wanted],
        policy=" ".join(f"'{hash_of(source(env, script))}'" for script in wanted) or "'none'",
        asks="connect-src 'self'; " if scripts else "", site=site or "", csv=csv, csv_name=f"{name}.csv", **context,
    )  # fmt: skip


@cache
def source(env: Environment, name: str) -> str:
    """The text of a style sheet or a script, as it was when it was first asked for: its hash is in a policy."""
    assert env.loader is not None
    return env.loader.get_source(env, name)[0]


def hash_of(text: str) -> str:
    """As a content policy names what may run or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def heat(ratio: float) -> str:
    """How strongly a square is coloured, 0 to 1: none at equality, full at a tenth or ten times."""
    distance = abs(1 - ratio) if ratio >= 0.5 else min(1.0, 0.5 + (0.5 - ratio) * 1.25)
    return f"{min(1.0, distance):.2f}"


Cell = str | int | float | None


def text_of(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """RFC 4180 with plain line feeds. What is not known is empty, never 0."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_field(value) for value in row] for row in rows)
    return out.getvalue()


def interval(name: str) -> tuple[str, str, str]:
    """The headings of an estimate: ``iops``, ``iops_low``, ``iops_high``."""
    return name, f"{name}_low", f"{name}_high"


def ends(estimate: Estimate | None) -> tuple[Cell, Cell, Cell]:
    """An estimate as `interval` heads it."""
    return (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)


def value_of(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


def _field(value: Cell) -> Cell:
    # A name from outside must stay a name in a spreadsheet: these begin a formula there.
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
