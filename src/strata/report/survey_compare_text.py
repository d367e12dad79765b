"""What differs between the nodes of a stack, for the terminal and as GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from strata.model.groups import grouped
from strata.model.survey_compared import Agreement, ComparedSurveys, SurveyField
from strata.report import figures
from strata.report.markdown import escape, folded, gfm
from strata.report.text_layout import Paint, cell_len, field, table, wrap

COLUMN_LEAST = 14
"""Narrower columns show the beginning of a value only; then its nodes stand behind each value."""
NODES_NAMED = 8
NONE = "–"


def headline(compared: ComparedSurveys) -> str:
    """``3 nodes: 4 fields differ, 2 are missing on some, 61 are the same``."""
    differ, missing, same = (
        len(compared.those(kind)) for kind in (Agreement.DIFFERS, Agreement.MISSING, Agreement.SAME)
    )
    parts = [f"{figures.plural(differ, 'field')} {'differs' if differ == 1 else 'differ'}"]
    parts += [f"{missing} {'is' if missing == 1 else 'are'} missing on some"] if missing else []
    return f"{figures.plural(len(compared.nodes), 'node')}: {', '.join([*parts, f'{same} are the same'])}"


def by_value(compared: ComparedSurveys, one: SurveyField) -> list[tuple[str, list[str]]]:
    """The values, the most frequent first, each with the names of its nodes."""
    both = zip(compared.nodes, one.values, strict=True)
    found = grouped((NONE if value is None else value, node.name) for node, value in both)
    return sorted(found.items(), key=lambda item: -len(item[1]))


def shown(compared: ComparedSurveys, kind: Agreement) -> tuple[SurveyField, ...]:
    """The fields of that agreement; a device, a card or a tier that some nodes lack as a whole is one row."""
    found: dict[str, SurveyField] = {}
    for one in compared.those(kind):
        heading = one.name.partition(": ")[0]
        parts = [f for f in compared.fields if f.name.startswith(f"{heading}: ")]
        lacking = [all(f.values[i] is None for f in parts) for i in range(len(compared.nodes))]
        if kind is Agreement.MISSING and parts and any(lacking):
            values = tuple(None if lacks else "there" for lacks in lacking)
            found[heading] = SurveyField(name=heading, values=values, agreement=kind)
        else:
            found[one.name] = one
    return tuple(found.values())


def survey_compare_text(compared: ComparedSurveys, width: int, color: bool = False) -> str:
    """In at most ``width`` columns: a table, or for many nodes the nodes of each value."""
    paint = Paint(color)
    out = paint.lines(wrap(headline(compared), width), "bold")
    names = max((len(node.name) for node in compared.nodes), default=0)
    for node in compared.nodes[:NODES_NAMED]:
        told = f"{node.path} · {' → '.join(node.devices) or 'no devices'} · {figures.utc(node.taken_unix_ns)}"
        out += field(node.name, told, width, column=names)
    out += [f"  {len(compared.nodes) - NODES_NAMED} more"] if len(compared.nodes) > NODES_NAMED else []
    for kind, heading in ((Agreement.DIFFERS, "they differ"), (Agreement.MISSING, "missing, or not readable, on some")):
        if fields := shown(compared, kind):
            out += ["", paint(heading, "bold", "yellow")]
            out += _table(compared, fields, width, paint) or _list(compared, fields, width)
    return "\n".join(out)


def machines_lines(compared: ComparedSurveys, width: int, paint: Paint) -> list[str]:
    """What differs alone, before a verdict on layers that these nodes drive."""
    fields = shown(compared, Agreement.DIFFERS)
    head = wrap(f"The nodes differ in {figures.plural(len(fields), 'field')}", width)
    return [*paint.lines(head, "bold"), *(_table(compared, fields, width, paint) or _list(compared, fields, width))]


def _table(compared: ComparedSurveys, fields: Sequence[SurveyField], width: int, paint: Paint) -> list[str]:
    """Empty where the columns would be too narrow for their values."""
    rows = [[one.name, *(NONE if value is None else value for value in one.values)] for one in fields]
    named = max(cell_len(row[0]) for row in rows)
    wanted = max(cell_len(cell) for row in rows for cell in row[1:])
    if 2 + named + len(compared.nodes) * (min(wanted, COLUMN_LEAST) + 2) > width:
        return []
    columns = frozenset(range(1, len(compared.nodes) + 1))
    made = table(["field", *(node.name for node in compared.nodes)], rows, width, elastic=columns)
    return [paint(made[0], "dim"), *made[1:]]


def _list(compared: ComparedSurveys, fields: Sequence[SurveyField], width: int) -> list[str]:
    out = []
    for one in fields:
        out += wrap(one.name, width, "  ", "    ")
        for value, names in by_value(compared, one):
            out += wrap(f"{value}: {_named(names)}", width, "    ", "      ")
    return out


def _named(names: Sequence[str]) -> str:
    more = len(names) - NODES_NAMED
    return ", ".join(names[:NODES_NAMED]) + (f" and {more} more" if more > 0 else "")


def survey_compare_markdown(compared: ComparedSurveys) -> str:
    """The differences as a table, and what is the same behind its number."""
    many = len(compared.nodes) > NODES_NAMED
    names = [escape(node.name) for node in compared.nodes]
    blocks = [f"### {escape(headline(compared))}"]
    for kind, heading in ((Agreement.DIFFERS, "They differ"), (Agreement.MISSING, "Missing, or not readable, on some")):
        fields = shown(compared, kind)
        if not fields:
            continue
        if many:
            rows = [[escape(f.name), "; ".join(f"{escape(v)}: {escape(_named(n))}" for v, n in by_value(compared, f))]
                    for f in fields]  # fmt: skip
            blocks.append(f"**{heading}**\n\n{gfm(['field', 'value: nodes'], rows, 2)}")
        else:
            rows = [[escape(f.name), *(escape(v or NONE) for v in f.values)] for f in fields]
            blocks.append(f"**{heading}**\n\n{gfm(['field', *names], rows, len(names) + 1)}")
    if same := compared.those(Agreement.SAME):
        rows = [[escape(f.name), escape(f.values[0] or NONE)] for f in same]
        blocks.append(folded(f"The same on all ({len(same)})", gfm(["field", "value"], rows, 2)))
    return "\n\n".join(blocks)
