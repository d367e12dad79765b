"""HdrHistogram logs, for HdrHistogram's own plotter and others: the service times of every round."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Sequence

from strata import units
from strata.formats.exports.tables import MeasuredRun
from strata.model.histogram import spread

NAME, TITLE, TABULAR = "hdr", "an HdrHistogram log of the service times, in nanoseconds", False
_COMPRESSED = 0x1C849304
"""The cookie of a compressed payload, version 2, with its word size (HdrHistogram's encoding, V2)."""


def write(runs: Sequence[MeasuredRun]) -> str:
    """See the module. A line for each round and direction, tagged by layer and workload."""
    begun = min((of.run.created_unix_ns for of in runs), default=0) / units.NS_PER_S
    lines = [
        "#[Logged with strata]",
        f"#[StartTime: {begun:.3f} (seconds since epoch)]",
        "#[Histogram log format version 1.3]",
    ]
    lines.append('"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"')
    for of in runs:
        for one in of.results:
            for side in ("read", "write"):
                of_side = None if one.result is None else getattr(one.result, side)
                if one.result is None or of_side is None or not of_side.ops or of_side.service_time is None:
                    continue
                payload = of_side.service_time
                start = one.result.started_unix_ns / units.NS_PER_S - begun
                most = spread(payload).max_ns / 1e6
                tag = re.sub(r"[^!-+\x2d-~]", "_", f"{one.layer}/{one.workload_key}/{side}")
                length = one.result.measured_ns / units.NS_PER_S
                lines.append(f"Tag={tag},{start:.3f},{length:.3f},{most:.6f},{_compressed(payload)}")
    return "\n".join([*lines, ""])


def _compressed(payload: str) -> str:
    packed = zlib.compress(base64.b64decode(payload))
    return base64.b64encode(struct.pack(">ii", _COMPRESSED, len(packed)) + packed).decode()
