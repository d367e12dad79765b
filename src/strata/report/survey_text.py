"""The survey for the terminal: what stands under the path, and what will spoil a measurement."""

from __future__ import annotations

from strata.model.survey import Severity, Survey
from strata.report import survey_facts as facts
from strata.report.text_layout import Paint, clean, field, wrap

_LABEL = 12
_OF_PROCESS = "rlimit "
"""Limits of every process: they are shown with everything else."""


def survey_text(survey: Survey, width: int, color: bool = False, verbose: bool = False) -> str:
    """The survey in at most ``width`` columns; ``verbose``: all of it, else what fits on a screen."""
    paint = Paint(color)
    out = [paint(clean(survey.path), "bold")]
    out += wrap(f"{survey.hostname} · {survey.os} · kernel {survey.kernel}", width, "  ")
    out.append("")
    fs = survey.file_system
    out += field("path", f"{fs.mount_point} · {fs.kind}", width, column=_LABEL)
    out += wrap(" · ".join(facts.file_system_facts(survey)), width, " " * (_LABEL + 4))
    for i, device in enumerate(survey.devices):
        last = i == len(survey.devices) - 1
        arrow = "└─ " if last else "├─ "
        out += field("medium" if last else "on", f"{arrow}{device.path} · {device.kind}", width, column=_LABEL)
        out += wrap(" · ".join(facts.device_facts(device)), width, " " * (_LABEL + 7))
        if verbose and device.multipath:
            for path in device.multipath.paths:
                told = (path.name, path.state or "state unknown", path.group or "", path.address or "")
                out += wrap(f"path {' · '.join(filter(None, told))}", width, " " * (_LABEL + 7), " " * (_LABEL + 9))
    out.append("")
    out += field("CPUs", " · ".join(facts.cpu_facts(survey)), width, column=_LABEL)
    out += field("memory", " · ".join(facts.memory_facts(survey)), width, column=_LABEL)
    out += _more(survey, width) if verbose else _brief(survey, width)
    out += field("load", " · ".join(facts.load_facts(survey)), width, column=_LABEL)
    for name, value in survey.limits.items():
        if verbose or not name.startswith(_OF_PROCESS):
            out += field("limit", f"{name}: {value}", width, column=_LABEL)
    if not survey.privileged:
        out += field("rights", "not root: raw devices and some counters cannot be read", width, column=_LABEL)
    if survey.unreadable:
        out += field("unreadable", ", ".join(survey.unreadable), width, column=_LABEL)
    return "\n".join([*out, *_notices(survey, width, paint, verbose)])


def _brief(survey: Survey, width: int) -> list[str]:
    """A line or two of what ``--verbose`` shows in full."""
    rows = (
        ("caches", " · ".join(facts.tier_facts(survey, every=False))),
        ("network", " · ".join(facts.cards(survey))),
        ("kernel log", facts.log_fact(survey)),
    )
    return [line for label, text in rows if text for line in field(label, text, width, column=_LABEL)]


def _more(survey: Survey, width: int) -> list[str]:
    out = []
    for label, rows in (
        ("cache", facts.tier_facts(survey)),
        ("placing", facts.placing_facts(survey)),
        ("network", tuple(facts.interface_facts(one, offloads=True) for one in survey.interfaces)),
        ("kernel log", (facts.log_fact(survey), *facts.log_lines(survey))),
    ):
        for i, row in enumerate(filter(None, rows)):
            out += field("" if i else label, row, width, column=_LABEL)
    return out


def _notices(survey: Survey, width: int, paint: Paint, verbose: bool) -> list[str]:
    """Warnings with reason and next step; what is only good to know in one line each, or as the warnings."""
    out: list[str] = []
    ordered = sorted(survey.notices, key=lambda n: n.severity is not Severity.WARNING)
    for notice in ordered:
        warning = notice.severity is Severity.WARNING
        if warning or verbose or not out or not out[-1].startswith("·"):
            out.append("")
        sign = "!" if warning else "·"
        lines = wrap(f"{sign} {notice.what}", width, "", "  ")
        out += paint.lines(lines, *(("yellow", "bold") if warning else ("bold",) if verbose else ()))
        if warning or verbose:
            out += wrap(notice.why, width, "  ")
        if notice.next_step and (warning or verbose):
            out += wrap(f"→ {notice.next_step}", width, "  ", "    ")
    if not verbose and any(n.severity is not Severity.WARNING for n in ordered):
        out += ["", *wrap("reasons, next steps and every fact: --verbose", width)]
    return out
