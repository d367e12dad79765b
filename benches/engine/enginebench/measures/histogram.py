"""The histogram: error, cost of one record, and whether parts merge to the whole."""

from __future__ import annotations

import json

from .. import tools
from ..context import Context, say
from ..estimate import exact, median
from ..rows import Row


def rows(ctx: Context) -> list[Row]:
    """From `strata-micro`; the cost once a round."""
    say("histogram")
    words = [str(ctx.programs / "strata-micro"), *(["--fast"] if ctx.smoke else [])]
    runs = [json.loads(tools.run(words, {ctx.cpu}).stdout) for _ in range(ctx.rounds)]
    merged = float(all(r["merge_exact"] for r in runs))
    return [
        Row("histogram, largest error", "value", "%", "<=", 0.4, exact(runs[0]["histogram_error"] * 100)),
        Row("histogram, one record", "–", "ns", "<=", 1.5, median([r["histogram_ns"] for r in runs])),
        Row("histogram, merge of parts equals the whole", "–", "", ">=", 1.0, exact(merged)),
    ]
