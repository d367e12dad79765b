"""What both curves share: what can be asked of a curve, and the least squares that fit one, or many at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from strata.analyse.series.longrun import Floats

Bounds = tuple[tuple[float, ...], tuple[float, ...]]
Model = Callable[[Floats], tuple[Floats, Floats]]
"""Of parameters (series × parameters): the residuals (series × points), and their derivatives (… × parameters)."""
STEPS_MOST = 200
STILL = 1e-12
"""Of a step or of the sum of squares, as a share: less than that is the end."""
STIFFEST = 1e10
FAINT = 1e-8
"""Of the largest effect: a parameter with less has no effect that could be told."""


class Curve(ABC):
    """A rate over the load."""

    @abstractmethod
    def rates(self, loads: Floats) -> Floats:
        """At each of these loads."""

    @property
    @abstractmethod
    def most(self) -> float | None:
        """X_max; None where nothing bounds the rate."""

    @property
    @abstractmethod
    def most_at(self) -> float | None:
        """The load of the maximum; None where it is only approached."""

    @property
    @abstractmethod
    def first(self) -> float:
        """The rate of a load of 1 that waits for nothing."""

    def rate(self, load: float) -> float:
        """At one load."""
        return float(self.rates(np.array([load]))[0])


class LawCurve(Curve):
    """A curve of a law with parameters, which says itself where it turns."""

    @property
    @abstractmethod
    def half_is_time_at(self) -> float | None:
        """The load from which on at most half of one more percent of it becomes rate (d ln X ÷ d ln N ≤ ½), and the
        rest time; 0 where that is so at every load, None where at none."""

    @abstractmethod
    def doubling_gains_at(self, share: float) -> float | None:
        """The load from which on twice as much gains this share (0 to 1) of the rate or less; 0 and None as above."""


def least(residuals: Callable[[Floats], Floats], starts: Sequence[Sequence[float]], bounds: Bounds) -> Floats:
    """The parameters of the least sum of squares from any of the starts."""
    # Here: scipy's optimisation takes longer to load than most commands run.
    from scipy.optimize import least_squares

    low, high = np.asarray(bounds[0]), np.asarray(bounds[1])
    found = [
        least_squares(
            residuals, np.clip(start, low, high), bounds=(low, high), x_scale="jac", xtol=1e-12, ftol=1e-12, gtol=1e-12
        )
        for start in starts
    ]
    best: Floats = min(found, key=lambda one: float(one.cost)).x
    return best


def least_each(model: Model, starts: Floats, bounds: Bounds) -> tuple[Floats, Floats]:
    """The same of many series at once, each from its own start, and the sum of squares that is left of each.

    Levenberg and Marquardt's steps, cut off at the bounds; a parameter at a bound through which the sum of squares
    would become less rests there. scipy fits one series at a time: a bootstrap of 200 takes it a second.
    """
    low, high = np.asarray(bounds[0]), np.asarray(bounds[1])
    at = np.clip(starts, low, high)
    damping = np.full(len(at), 1e-3)
    going = np.full(len(at), True)
    off, slope = model(at)
    for _ in range(STEPS_MOST):
        gradient = np.einsum("spk,sp->sk", slope, off)
        held = ((at <= low) & (gradient >= 0)) | ((at >= high) & (gradient <= 0))
        # Each parameter in units of its own effect, as Marquardt has it.
        own = np.sqrt(np.sum(slope**2, axis=1))
        own = np.maximum(own, own.max(axis=1, keepdims=True) * FAINT)
        shaped = np.where(held[:, None, :], 0.0, slope / own[:, None, :])
        ridge = np.where(held, 1.0, damping[:, None])
        normal = np.einsum("spj,spk->sjk", shaped, shaped) + ridge[:, None, :] * np.eye(at.shape[1])
        step = np.linalg.solve(normal, np.where(held, 0.0, gradient / own)[:, :, None])[:, :, 0] / own
        tried = np.clip(at - step, low, high)
        there, steeper = model(tried)
        cost, less = np.sum(off**2, axis=1), np.sum(there**2, axis=1)
        small = np.linalg.norm(tried - at, axis=1) <= STILL * (STILL + np.linalg.norm(at, axis=1))
        better = going & (less < cost)
        at = np.where(better[:, None], tried, at)
        off, slope = np.where(better[:, None], there, off), np.where(better[:, None, None], steeper, slope)
        damping = np.where(better, damping / 10, damping * 10)
        going &= ~small & ~(better & (cost - less <= STILL * cost)) & (damping < STIFFEST)
        if not going.any():
            break
    return at, np.sum(off**2, axis=1)
