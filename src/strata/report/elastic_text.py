"""A load under which a number changed, for the terminal: a row for each change, and whether anything was lost."""

from __future__ import annotations

from collections.abc import Mapping

from strata import units
from strata.model.elastic import ElasticRun, LoadChange, VerifiedBeside
from strata.model.verify import Integrity
from strata.report import figures
from strata.report.text_layout import Paint, table, wrap

NONE = "–"
HEAD = ("change", "took", "before", "dip", "recovered after", "new rate", "gain")
_STYLE = {Integrity.SOUND: "green", Integrity.FAULTS: "red"}


def elastic_text(result: ElasticRun, width: int, color: bool = False) -> str:
    """In at most ``width`` columns."""
    paint = Paint(color)
    many = f"{figures.plural(len(result.changes), 'change')} of {result.axis.value} under load"
    out = paint.lines(wrap(f"{result.where} · {result.label} · {many}", width), "bold")
    lines = table(HEAD, map(change_row, result.changes), width, numeric=frozenset(range(1, len(HEAD))))
    out += ["", paint(lines[0], "dim"), *lines[1:]]
    for one in result.changes:
        if one.data_before or one.data_after:
            held = f"{_data(one.data_before)}; then {_data(one.data_after)}"
            out += wrap(f"{change_words(one)}: the data was on {held}", width, "  ", "    ")
        if one.refused:
            out += wrap(f"{change_words(one)}: no figures: {one.refused}; give a larger --budget", width, "  ", "    ")
    out.append("")
    if result.verified is None:
        out += wrap("Not checked whether data was lost: --verify names an endpoint for it.", width)
    else:
        verdict = result.verified.verdict
        out += paint.lines(wrap(kept_words(result.verified), width), _STYLE.get(verdict, "yellow"))
    return "\n".join(out)


def change_words(change: LoadChange) -> str:
    """``2 → 3``."""
    return f"{change.before_value} → {change.value}"


def change_row(change: LoadChange) -> list[str]:
    """One change, under `HEAD`."""
    took = units.duration((change.ended_s - change.began_s) * units.NS_PER_S)
    if change.before is None or change.after is None or change.dip is None or change.gain is None:
        return [change_words(change), took, *[NONE] * 5]
    back = "not until the next" if change.recovered_s is None else f"{change.recovered_s:.1f} s"
    rates = [f"{units.count(e.value)} IOPS {figures.share_error(e)}".strip() for e in (change.before, change.after)]
    dip, gain = figures.percent(change.dip), f"{change.gain:.2f}×"
    return [change_words(change), took, rates[0], dip, back, rates[1], gain]


def _data(held: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {units.size(size)}" for name, size in held.items()) or NONE


def kept_words(verified: VerifiedBeside) -> str:
    """Whether anything was lost, and how much was looked at."""
    looked = (
        f"{units.count(verified.writes)} writes to {verified.endpoint} meanwhile, "
        f"{figures.plural(verified.acknowledged, 'block')} read back at the end"
    )
    if verified.verdict is Integrity.SOUND:
        return f"Nothing was lost: {looked}."
    if verified.verdict is Integrity.FAULTS:
        return f"DATA WAS LOST: {figures.plural(verified.faulty, 'fault')}; {looked}. {verified.why}."
    return f"Inconclusive whether data was lost: {verified.why}; {looked}."
