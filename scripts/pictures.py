#!/usr/bin/env python3
"""Draws the live display of a real run, as the guide shows it: one SVG for each width.

    scripts/pictures.py STACK.toml docs/watching 80 200      (with Strata installed; root where the stack needs it)

The run is a diagnosis of the stack, stopped as soon as the picture is taken; nothing is drawn that was not measured.
The file loads nothing: a reader's own fixed-width font is used.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import signal
import tempfile
from pathlib import Path

from rich.console import Console, Group
from rich.terminal_theme import MONOKAI

from strata.app.diagnose import diagnose_path
from strata.app.options import Options
from strata.errors import Stopped
from strata.model.progress import Phase, Progress
from strata.report.live import Screen

FORM = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def draw(screen: Screen, width: int, path: Path) -> None:
    """The display as it is at this moment, on a terminal of so many columns."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(Group(*screen.lines(width)))
    name = f"{path.name}-{width}"
    text = console.export_svg(title="strata diagnose", theme=MONOKAI, code_format=FORM, unique_id=name)
    path.with_name(f"{name}.svg").write_text(text)


def main() -> None:
    """One run, and a picture of each width at the moment that was asked for."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("stack", type=Path)
    asked.add_argument("out", type=Path, help="path without width and suffix")
    asked.add_argument("widths", type=int, nargs="+")
    asked.add_argument("--layer", help="whose cell is running; default: the last of the stack")
    asked.add_argument("--cell", default="random read", help="how its label begins")
    asked.add_argument("--after", type=int, default=12, help="steps that are over")
    of = asked.parse_args()
    screen, taken = Screen(), []

    def emit(p: Progress) -> None:
        screen.take(p)
        running = p.phase is Phase.MEASURE and p.iops is not None and not p.finished and not taken
        mine = p.layer == of.layer if of.layer else p.layer is not None and not p.layer.startswith(("disk", "file"))
        if running and mine and (p.label or "").startswith(of.cell) and (p.step or 0) > of.after:
            # The second interval: the first one still has the ramp in its counters.
            if len(screen.recent) < 3:
                return
            for width in of.widths:
                draw(screen, width, of.out)
            taken.append(p)
            signal.raise_signal(signal.SIGINT)

    with tempfile.TemporaryDirectory() as kept, contextlib.suppress(Stopped, KeyboardInterrupt):
        diagnose_path(of.stack, Options(store=f"sqlite:///{kept}/runs.sqlite"), emit)
    print("drawn" if taken else "the run had no such moment")


if __name__ == "__main__":
    main()
