"""Scenes whose requests were traced at the device."""

from __future__ import annotations

from strata.diagnose import diagnose
from strata.model.analysis import Analysis
from strata.model.finding import Diagnosis
from strata.model.trace import OrderSummary, TraceSummary

from .known import SCENES

MS = 1e6


def trace(late: float, service_ns: float, threads: float, device: str = "sdb", node: str | None = None) -> TraceSummary:
    """What a device saw; reads and writes alike."""
    half = OrderSummary(
        requests=5000,
        entered=5000,
        bytes=5000 * 8192,
        strict_share=1 - late,
        windowed_share=1 - late / 2,
        backward_share=late,
        reordered_share=late,
        mean_extent=1.5 if late else None,
        max_extent=4 if late else 0,
        service_mean_ns=service_ns,
        service_p99_ns=None,
    )
    return TraceSummary(
        device=device,
        role="device",
        seconds=0.5,
        whole=True,
        read=half,
        write=half,
        splits=0,
        merges=0,
        mean_depth=8.0,
        dispatchers=threads,
        threads=round(threads),
        node=node,
    )


def seen(
    name: str, late: float, times: float, device: str = "sdb", nodes: tuple[str | None, str | None] = (None, None)
) -> tuple[Analysis, Diagnosis]:
    """A scene with traces: sequential writes of the path late by this share and so much slower at the device."""
    scene = SCENES[name]
    analysis = scene.analysis(seed=3, sd=0.01)
    cells = []
    for cell in analysis.cells:
        hit = cell.layer == "path" and cell.workload.rw.writes and not cell.workload.rw.random
        late_one = trace(late, 2 * MS * times, 2.0, device, nodes[0])
        made = late_one if hit else trace(0.0, 2 * MS, 1.0, node=nodes[1])
        cells.append(cell.model_copy(update={"traces": (made,)}))
    analysis = analysis.model_copy(update={"cells": tuple(cells)})
    return analysis, diagnose(scene.stack, analysis)
