"""Student's t for whole tables: points and tails, element by element."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def below(t: Floats, df: Floats) -> Floats:
    """The probability of less than ``t``."""
    from scipy.special import stdtr

    return np.asarray(stdtr(df, t), dtype=np.float64)


def point(df: Floats, share: float | Floats) -> Floats:
    """What ``share`` of the distribution lies below."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(df, share), dtype=np.float64)


def two_sided(df: Floats, level: float | Floats) -> Floats:
    """The point that is exceeded in neither direction with probability ``level``; at least one degree of freedom."""
    return point(np.maximum(df, 1.0), 0.5 + level / 2)
