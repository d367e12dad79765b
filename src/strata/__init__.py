"""Strata finds the layer of a storage stack that is slow, proves it with an experiment, and remembers."""

__version__ = "0.1.0"
