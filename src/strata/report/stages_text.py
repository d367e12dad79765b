"""How the stages of a stack stand, for the terminal."""

from __future__ import annotations

import shlex
import time

from strata.model.stages import StagesState, StageState
from strata.report.text_layout import wrap
from strata.units import NS_PER_S, plural


def stages_text(found: StagesState, width: int, _color: bool) -> str:
    """Each layer with its measurement, then what to do next."""
    lines = [found.stack, ""]
    for number, one in enumerate(found.stages, start=1):
        lines += wrap(f"{number}. {one.layer}: {_measured(one, found)}", width, "  ", "     ")
    following = found.next
    lines.append("")
    stack = shlex.quote(found.path)
    if following is None:
        lines += wrap(f"Every layer has a measurement: strata diagnose {stack}", width)
        return "\n".join(lines)
    if following.prepare:
        lines += wrap(f"Next, by hand: {following.prepare}", width)
    reached = f"strata stage {stack} --measure"
    lines += wrap(f"Then measure {following.layer}: {reached}", width)
    lines += wrap(
        f"Or measure it with another tool (strata emit writes the commands) and name its file: measured = \"…\" in the "
        f"table of {following.layer}.", width,
    )  # fmt: skip
    return "\n".join(lines)


def _measured(one: StageState, found: StagesState) -> str:
    record = one.record
    if record is None:
        return "no measurement yet"
    day = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(record.created_unix_ns / NS_PER_S))
    source = ", ".join(record.sources) or f"run {', '.join(record.runs)}"
    count = len(one.workloads)
    without = "" if one.anchored or found.anchor is None else "; without the anchor"
    return f"{plural(count, 'workload')} of {day} on {record.host}, {record.tool}, from {source}{without}"
