"""The command lines that repeat a run: Strata's own, and fio's for each cell."""

from __future__ import annotations

import shlex

from strata.app.stacks import OWN_PORT, own_export
from strata.formats import fio_command
from strata.model.endpoint import Endpoint
from strata.model.fio_words import entering
from strata.model.run import Run

PORT = 10809
"""NBD's registered port; the run itself used a free one."""


def repeat_commands(run: Run) -> tuple[tuple[str, str], ...]:
    """(what it repeats, the command), in the order in which they have to be typed.

    fio's are for one round of a cell. They need the test file to be there, and the servers that Strata had started.
    """
    lines: list[tuple[str, str]] = []
    if run.environment.called_again:
        lines.append(("this run", run.environment.called_again))
    if run.data is None:
        return tuple(lines)
    keep = ["measure", f"file:{run.data.path}", "--size", str(run.data.size), "--keep", "--runtime", "1s"]
    lines.append(("the test file, kept", shlex.join(["strata", *keep])))
    endpoints: dict[str, Endpoint] = {}
    for number, layer in enumerate(run.plan.stack.layers):
        export = own_export(layer)
        if export is None:
            endpoints[layer.name] = run.plan.stack.endpoint_of(layer)
            continue
        address = f"127.0.0.1:{PORT + number}"
        there = run.plan.stack.endpoint_of(layer)
        words = [
            *entering(there),
            "strata",
            "target",
            "--file",
            run.data.path,
            "--writable",
            "--listen",
            address,
            "--export",
            export,
        ]
        lines.append((f"the server of {layer.name!r}, in a terminal of its own", shlex.join(words)))
        uri = layer.endpoint.replace(OWN_PORT, f"{address}/")
        endpoints[layer.name] = Endpoint.parse(uri).model_copy(update={"netns": there.netns})
    for cell in run.plan.cells:
        segments = run.data.segments.get(cell.layer, ())
        if cell.skip is None and segments:
            times = run.plan.ramp_s, run.plan.runtime_s
            command = fio_command(endpoints[cell.layer], cell.workload, segments, *times)
            if command is not None:
                lines.append((f"{cell.layer} · {cell.workload.label}", command))
    return tuple(lines)
