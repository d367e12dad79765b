"""The guide's page of all causes, made from their own pages.

``python -m strata.diagnose.page > docs/guide/causes.md`` writes it; a test compares.
"""

from __future__ import annotations

import textwrap

from strata.diagnose.registry import Rule, rules, trials
from strata.diagnose.sides import CauseSide
from strata.model.cause import Cause
from strata.model.plugins import section
from strata.text.output import out

_HEAD = """\
# The causes

These are the causes that a diagnosis can name. The page of each cause says what it claims, which evidence it needs,
what rules it out, which experiments tell it from others, what to do next (the cheapest remedy first) and what that
gains. A cause that a counter shows directly takes precedence over one that the pattern of the losses suggests. A loss
that no known cause explains is reported as `unexplained`.

| cause | meaning |
|---|---|
"""


def causes_page() -> str:
    """The page as Markdown, with a final newline."""
    table = "\n".join(f"| `{c.value}` | {c.meaning} |" for c in Cause)
    ordered = sorted(rules(), key=lambda r: list(Cause).index(r.cause))
    causes = "\n\n".join("\n\n".join((section(r.cause.value, r.page), _experiments(r), _gain(r))) for r in ordered)
    tests = "\n\n".join(section(t.key, t.page) for t in trials())
    after = f"\n\n## The experiments\n\n{tests}" if tests else ""
    return f"{_HEAD}{table}\n\n## Each cause\n\n{causes}{after}\n"


_BELOW = "up to what the layer below gives in the rows that it explains, for its part of their loss"
_PROMISED = "up to the specification or an earlier run, with its interval; without either by its own figures alone"


def _experiments(rule: Rule) -> str:
    """Which kinds tell it from other causes."""
    known = [f"[`{t.key}`](#{t.key}) ({_title(t.page)})" for t in trials() if t.tells(rule)]
    said = "; ".join(known) or "none is made for it: the evidence shows it, or does not"
    return _paragraph("Experiment", said)


def _gain(rule: Rule) -> str:
    """What its remedies bring, by how it is judged: over the layer below, or by what the layer shows by itself."""
    if rule.cause is Cause.UNEXPLAINED:
        said = "not known before the cause is"
    elif CauseSide.FIGURES in rule.sides or rule.cause is Cause.IMPOSSIBLE:
        said = "no speed, but figures that are those of the layer"
    else:
        of_pair = [_BELOW] if rule.judge_pair is not None else []
        by_itself = [_PROMISED] if rule.judge is not None or not of_pair else []
        said = "; where the layer shows it by itself, ".join((*of_pair, *by_itself))
    return _paragraph("What it gains", said)


def _paragraph(heading: str, said: str) -> str:
    text = f"**{heading}.** {said[:1].upper()}{said[1:]}."
    return "\n".join(textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False))


def _title(page: str) -> str:
    title = page.strip().partition("\n")[0].rstrip(".")
    return f"{title[:1].lower()}{title[1:]}"


if __name__ == "__main__":
    out(causes_page())
