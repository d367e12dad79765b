"""Why nothing is predicted."""

from __future__ import annotations


class UnpredictedError(Exception):
    """The evidence does not carry a prediction; the message says what is missing."""
