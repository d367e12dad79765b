"""The form a table of IOPS has: a latency bound and a capacity bound, and a soft corner between them.

At small depth an I/O waits for nobody, X = depth / (t0 + size / v); at large depth a resource is full,
X = 1 / (c0 + size / w). The soft minimum of both, X = (X₁^−p + X₂^−p)^(−1/p), has five parameters for each pattern.
It is the mean that the smoothing deviates from, and never a value by itself. Asymptotic bounds: Lazowska et al. 1984,
"Quantitative System Performance", chapter 5.
"""

from __future__ import annotations

import numpy as np

from strata.analyse.series.longrun import Floats

FEWEST = 8
"""Cells of one pattern below which the five parameters are not fitted."""
ROUGH = 0.05
"""Relative misfit that the form is taken to have, beside the noise of the cells."""


def fitted(depth: Floats, size: Floats, level: Floats, variance: Floats) -> Floats | None:
    """The form's log IOPS at each cell of one pattern; None where the cells are too few.

    ``level`` is log IOPS with ``variance``, ``size`` in bytes.
    """
    if level.size < FEWEST or np.unique(depth).size < 2 or np.unique(size).size < 2:
        return None
    from scipy.optimize import least_squares

    sd = np.sqrt(variance + ROUGH**2)
    rate = np.exp(level)
    shallow = depth == depth.min()
    deep = depth == depth.max()
    t0, tv = _line(size[shallow], (depth / rate)[shallow])
    c0, cw = _line(size[deep], (1 / rate)[deep])
    start = np.array([np.log(t0), np.log(tv), np.log(c0), np.log(cw), np.log(3.0)])
    low = start - np.array([7.0, 12.0, 7.0, 12.0, 5.0])
    high = start + np.array([7.0, 12.0, 7.0, 12.0, 5.0])
    low[4], high[4] = np.log(0.7), np.log(20.0)
    found = least_squares(
        lambda p: (_form(p, depth, size) - level) / sd, start, bounds=(low, high), loss="soft_l1", f_scale=2.0,
        max_nfev=200,
    )  # fmt: skip
    return _form(found.x, depth, size)


def _form(p: Floats, depth: Floats, size: Floats) -> Floats:
    waiting = np.log(depth) - np.log(np.exp(p[0]) + size * np.exp(p[1]))
    full = -np.log(np.exp(p[2]) + size * np.exp(p[3]))
    power = float(np.exp(p[4]))
    form: Floats = -np.logaddexp(-power * waiting, -power * full) / power
    return form


def _line(size: Floats, seconds: Floats) -> tuple[float, float]:
    """Seconds at size 0 and a byte, both above 0: a start for the fit, not an answer."""
    least, most = int(np.argmin(size)), int(np.argmax(size))
    slope = (seconds[most] - seconds[least]) / max(size[most] - size[least], 1.0)
    slope = max(float(slope), float(seconds[most] / max(size[most], 1.0)) * 0.05)
    return max(float(seconds[least] - slope * size[least]), float(seconds[least]) * 0.1), slope
