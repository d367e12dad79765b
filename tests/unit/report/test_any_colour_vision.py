"""What a page says by colour it says by a pattern, a shape or a sign too; its colours stand out from its paper."""

from __future__ import annotations

import re
from itertools import combinations

from strata.model.compared import Change
from strata.report import compare_lines
from strata.report.html import frame
from strata.report.html.charts import svg

STYLE = frame.source(frame.environment(), "style.css")
SCHEMES = [
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in re.findall(r":root {(.*?)}", STYLE, re.S)
]


def light(colour: str) -> float:
    """WCAG 2.1: relative luminance."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_no_two_layers_are_drawn_with_one_pattern() -> None:
    """Without red or green, colours of some are within what the eye tells apart: light 2 and 4, dark 3 and 7."""
    patterns = dict(re.findall(r"\.layer-(\d) { --c: var\(--l\1\); --dash: ([^;]+);", STYLE))
    assert len(patterns) == 8
    assert [pair for pair in combinations(patterns, 2) if patterns[pair[0]] == patterns[pair[1]]] == []


def test_the_marks_of_the_first_layers_have_shapes_of_their_own() -> None:
    shapes = [re.findall(r' d="([^"]*)"', svg.mark(0, 0, i))[0] for i in range(4)]
    assert len(set(shapes)) == 4


def test_every_verdict_of_a_cell_has_a_sign_of_its_own() -> None:
    signs = [compare_lines.MARK[verdict] for verdict in Change]
    assert len(set(signs)) == len(signs) and all(signs)


def test_lines_and_borders_stand_out_from_the_paper() -> None:
    """WCAG 2.1, 1.4.11: three to one, in light, dark and print."""
    assert len(SCHEMES) == 3
    poor = []
    for scheme in SCHEMES:
        for name in (*(f"l{i}" for i in range(8)), "slow", "fast", "good", "warn", "focus"):
            for under in ("paper", "sheet"):
                a, b = sorted((light(scheme[name]), light(scheme[under])), reverse=True)
                if (a + 0.05) / (b + 0.05) < 3:
                    poor.append((name, under, round((a + 0.05) / (b + 0.05), 2)))
    assert poor == []
