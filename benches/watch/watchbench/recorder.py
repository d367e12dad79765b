"""`python recorder.py OUT SECONDS WHERE [-- COMMAND …]`: a watching as the command makes it, with its evidence kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from strata.app.watch import Watching, observe, told

if __name__ == "__main__":
    out, seconds, where, *rest = sys.argv[1:]
    command = tuple(rest[1:])
    seen, _ = observe(Watching(where=where, seconds=float(seconds), command=command))
    found = told(seen)
    answer = {
        "observed": seen.model_dump(mode="json"),
        "verdict": found.verdict.model_dump(mode="json"),
        "findings": [f.model_dump(mode="json") for f in found.findings],
    }
    Path(out).write_text(json.dumps(answer))
