"""What an import understood of each file, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.model.imported import FileOutcome, ImportedCell, ImportResult, Measured
from strata.report import figures
from strata.report.text_layout import Paint, clean, wrap

CELLS_SHOWN = 20
"""Cells of one file that are listed; ``--json`` has all."""
NOTES_SHOWN = 12


def import_text(result: ImportResult, width: int, color: bool = False) -> str:
    """Each file with its cells, what was inferred, what was left out, and its run."""
    paint = Paint(color)
    lines = [line for one in result.files for line in _file(one, width, paint)]
    understood = len(result.files) - result.refused
    kept = sum(one.run is not None for one in result.files)
    known = sum(one.known_as is not None for one in result.files)
    said = [f"{understood} of {figures.plural(len(result.files), 'file')} understood"]
    if not result.dry_run:
        said.append(f"{figures.plural(kept, 'run')} kept")
        said += [f"{known} in the store already"] * bool(known)
    else:
        said.append("nothing was kept (--dry-run)")
    return "\n".join([*lines, *wrap(", ".join(said), width)])


def _file(one: FileOutcome, width: int, paint: Paint) -> Iterator[str]:
    if one.imported is None:
        where = ", ".join(f"{word} {n}" for word, n in (("line", one.line), ("column", one.column)) if n is not None)
        head = wrap(f"✗ {clean(one.shown)}" + (f" · {where}" if where else ""), width, "", "  ")
        yield from (paint(x, "bold", "red") for x in head)
        yield from wrap(f"cannot import: {clean(one.problem or '')}", width, "    ")
        return
    found = one.imported
    tool = f"{found.tool} {found.version}".strip()
    title = f"{clean(one.shown)} · {clean(tool)} · {figures.plural(len(found.cells), 'cell')}"
    if found.counters:
        title += f" · {figures.plural(len(found.counters), 'counter')}"
    yield from (paint(x, "bold") for x in wrap(title, width, "", "  "))
    for cell in found.cells[:CELLS_SHOWN]:
        yield from _cell(cell, width)
    if len(found.cells) > CELLS_SHOWN:
        yield f"  … and {len(found.cells) - CELLS_SHOWN} more (--json has all)"
    for label, texts in (("inferred", found.notes), ("left out", found.left_out)):
        for text in texts[:NOTES_SHOWN]:
            yield from wrap(f"{label}: {clean(text)}", width, "  ", "    ")
        if len(texts) > NOTES_SHOWN:
            yield f"  {label}: … and {len(texts) - NOTES_SHOWN} more"
    if one.run is not None:
        yield f"  run {one.run}"
    elif one.known_as is not None:
        yield f"  in the store already: run {one.known_as}"
    elif one.not_kept is not None:
        yield from wrap(f"not kept: {clean(one.not_kept)}", width, "  ", "    ")


def _cell(cell: ImportedCell, width: int) -> Iterator[str]:
    label = cell.workload.label if cell.workload is not None else ""
    yield from wrap(f"{clean(cell.name)}{f' · {label}' if label else ''} (line {cell.line})", width, "  ", "    ")
    for name, measured in [*cell.sides.items(), *([("total", cell.total)] if cell.total is not None else [])]:
        yield from wrap(f"{name}: {' · '.join(_figures(measured)) or 'no figures'}", width, "    ", "      ")
    if cell.workload is None:
        why = "; ".join(map(clean, cell.incomplete[:4]))
        yield from wrap(f"kept, and not comparable with other runs: {why}", width, "    ", "      ")
    if cell.approximate:
        keys = ", ".join(cell.approximate[:6]) + (", …" if len(cell.approximate) > 6 else "")
        yield from wrap(f"not merged, as no distribution was printed: {keys}", width, "    ", "      ")


def _figures(measured: Measured) -> Iterator[str]:
    if (iops := measured.base("iops")) is not None:
        yield f"{units.count(iops)} IOPS"
    if (rate := measured.base("rate")) is not None:
        yield units.rate(rate)
    if (mean := measured.base("time.mean")) is not None:
        yield f"mean {units.duration(mean)}"
    if (tail := measured.base("time.p99")) is not None:
        yield f"p99 {units.duration(tail)}"
    if measured.errors:
        yield figures.plural(measured.errors, "error")
