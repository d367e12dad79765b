"""The guide's page of all laws, made from their own pages.

``python -m strata.analyse.laws.page > docs/guide/laws.md`` writes it; a test compares.
"""

from __future__ import annotations

from strata.analyse.conclusions import questions
from strata.analyse.laws import Law, laws
from strata.model.figures import KINDS, Dimension
from strata.model.plugins import section
from strata.text.output import out

_HEAD = """\
# The consistency laws

`strata check FILE` checks figures against these laws, whichever tool measured them. Every run of Strata is checked
against the same laws before anything is concluded from it; `strata check RUN` checks it again. If a law is *broken*
(✗), figures or statements contradict each other. The other flags (!) are caveats: all figures may be true, but they do
not show what they seem to show. The exit code is 3 if a law is broken, with `--strict` also for caveats.

## What can be checked

* a table as CSV or TSV, one row for each measurement;
* the result of fio (`--output-format=json`);
* a run in the store.

A table heading names a kind, its unit and its rounding: `iops`, `rate [MB/s]`, `time.p99 [us]`, `rate [GiB/s, exact]`
(roundings: exact, nearest, down, about, unknown). Headings of common tools are recognised; name any other one with
`--column 'Throughput=rate [MB/s]'`. A column without a kind is a label. `MB` may be 10^6 or 2^20, rounded or truncated:
this is inferred from all rows together before one is flagged. `~` before a number means about; `8K` and `1 MiB` have
their own unit. Lines such as `# clock [GHz] = 2.7` apply to all rows. The column `role` says whether a row is
`measured`, `planned` or `said` (a statement about the others); `--plan FILE` reads the planned rows from a table of
their own.

"""

_FOLLOWS = """
## What follows from a table

Besides contradictions, `strata check FILE` reports what the measured rows show together. Rows with `layer` and `below`
are judged by the rules of a [diagnosis](reading-a-report.md), which also say what to measure next. The questions below
are asked of every table; a question that does not apply gives no answer. Each answer is *shown* (the figures carry
it), *suggested* (they do, with something that is not stated) or *inconclusive*, with what is missing in the figures.
Rows that break a law are left out, as are rows that no measurement can have given (no depth, a size of 7 bytes, no
IOPS). Rows of one layer with one workload are its repetitions. At most 64 layers and 2,000 comparisons are judged.

"""


def laws_page() -> str:
    """The page as Markdown, with a final newline."""
    unit = {one: one.value for one in Dimension} | {Dimension.PLAIN: ""}
    kinds = "\n".join(f"| `{name}` | {unit[dimension]} | {what} |" for name, (dimension, what) in KINDS.items())
    labels = "\n".join(f"| {label} | {what} |" for label, what in _LABELS)
    parts = [
        _HEAD,
        "### Kinds of figures\n\nA kind may have a suffix:  `time.mean`, `time.p99`, `iops.read`, "
        f"`busy.kernel`, `wire.total`, `ref.network`.\n\n| kind | base unit | what it is |\n|---|---|---|\n{kinds}\n\n",
        f"### Labels that laws use\n\n| label | meaning |\n|---|---|\n{labels}\n\n",
        "## The laws\n\n| law | reported when it is broken |\n|---|---|\n",
        "".join(f"| [{law.name}](#{law.name}) | {law.says} |\n" for law in laws()),
        "\n" + "\n\n".join(_law(law) for law in laws()) + "\n",
        _FOLLOWS + "\n\n".join(section(one.NAME, one.__doc__ or "") for one in questions()) + "\n",
    ]
    return "".join(parts)


_LABELS = (
    ("`layer`, `below`", "layer of a row, and the layer(s) it stands on, joined by ` + `"),
    ("`pattern`", "`sequential write`, `random read`, …"),
    ("`caching`", "`on` or `off`"),
    ("`engine`", "`nothing` for a null endpoint"),
    ("`loop`", "`open` where a rate was requested, `held` where a rate cap or pauses throttle a closed loop"),
    ("`owner`, `disk`", "whether the node owns the volume (`yes`, `no`); whether the disk is called `physical`"),
    ("`test`", "pairs a planned row with the measured one"),
    ("`ranges`", "`own` where each thread writes a range of its own, `unknown` where a tool does not say"),
    ("`pinned`", "CPUs that the generator was pinned to (of the whole table)"),
    ("`constant`, `order`", "of a said row: the column called constant; the claimed order of the patterns"),
    (
        "`of`, `scaled`",
        "whether a figure before and after is a `time` or a `rate`; what `count.before` and `.after` count",
    ),
    ("`limit`", "of a said row: the resource named as the limit (`server`, `client`, `wire`, `device`)"),
)


def _law(law: Law) -> str:
    asked = " and ".join(w for w, f in (("tables", law.table), ("runs", law.run or law.table)) if f is not None)
    return section(law.name, law.page, f" *Asked of {asked}.*")


if __name__ == "__main__":
    out(laws_page())
