"""The guide's page of all causes, made from their own pages.

``python -m strata.diagnose.page > docs/guide/causes.md`` writes it; a test compares.
"""

from __future__ import annotations

from strata.diagnose.registry import rules, trials
from strata.model.cause import Cause
from strata.model.plugins import section
from strata.text.output import out

_HEAD = """\
# The causes

These are the causes that a diagnosis can name. The page of each cause says what it claims, which evidence it needs,
what rules it out, and what to do next. A cause that a counter shows directly takes precedence over one that the
pattern of the losses suggests. A loss that no known cause explains is reported as `unexplained`.

| cause | meaning |
|---|---|
"""


def causes_page() -> str:
    """The page as Markdown, with a final newline."""
    table = "\n".join(f"| `{c.value}` | {c.meaning} |" for c in Cause)
    causes = "\n\n".join(
        section(r.cause.value, r.page) for r in sorted(rules(), key=lambda r: list(Cause).index(r.cause))
    )
    tests = "\n\n".join(section(t.key, t.page) for t in trials())
    after = f"\n\n## The experiments\n\n{tests}" if tests else ""
    return f"{_HEAD}{table}\n\n## Each cause\n\n{causes}{after}\n"


if __name__ == "__main__":
    out(causes_page())
