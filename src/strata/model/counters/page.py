"""The guide's page of all counters, made from what declares them.

``python -m strata.model.counters.page > docs/guide/counters.md`` writes it; a test compares.
"""

from __future__ import annotations

from types import ModuleType

from strata.model.counters.catalogue import families
from strata.model.counters.counter import LABELS, NODE, Counter, Scope
from strata.model.series import SeriesKind
from strata.text.output import out

_HEAD = """\
# The counters

What Strata reads beside a measurement. A cell keeps each as a rate per second over its measured span (a gauge: the
mean), in the JSON under `counters` as `name{label=value,…}`. What could not be read is absent, never 0. What belongs to
a node of the stack has the label `node`; this machine has none.

A unit with `/s` is the growth per second of a counter; seconds per second are a share of time, or how many at once.
*Parts* add up to the whole; *aspects* are different things and are never added. *Over several* says how things of one
kind become one value: their sum, the largest, the mean, or none (devices of one path count the same I/O again).
`strata.model.counters.Readings` is the one place that asks for them.

| of | told apart by |
|---|---|
"""


def counters_page() -> str:
    """The page as Markdown, with a final newline."""
    scopes = "\n".join(f"| {scope.value} | {_of(scope)} |" for scope in Scope)
    return f"{_HEAD}{scopes}\n\n" + "\n\n".join(_family(m, some) for m, some in families().items()) + "\n"


def _of(scope: Scope) -> str:
    return ", ".join(f"`{label}`" for label in LABELS[scope]) or "one of a node"


def _family(module: ModuleType, counters: tuple[Counter, ...]) -> str:
    title = (module.__doc__ or "").strip().partition("\n")[0].rstrip(".")
    rows = "\n".join(map(_row, counters))
    return f"## {title}\n\n| counter | unit | of | over several | what it says |\n|---|---|---|---|---|\n{rows}"


def _row(c: Counter) -> str:
    unit = c.unit if c.kind is SeriesKind.GAUGE else f"{c.unit}/s"
    said = [f"*{label}*: {', '.join(values) or 'as they come'}" for label, values in (*c.parts.items(),)]
    said += [f"*{label}* (apart): {', '.join(values)}" for label, values in c.aspects.items()]
    said += [f"*{label}*, where there is one" for label in c.also if label != NODE]
    if c.whole is not None:
        said.append(f"*{c.whole[0]}* {c.whole[1]}: the sum of all")
    if c.nested is not None:
        said.append(f"of those on one {c.nested} the largest counts")
    words = "; ".join([c.words, *said])
    return f"| `{c.name}` | {unit} | {c.scope.value} | {c.over.value} | {words} |"


if __name__ == "__main__":
    out(counters_page())
