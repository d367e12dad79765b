"""The commands. stdout carries the result only; progress and notes go to stderr."""

from strata.cli.main import main

__all__ = ["main"]
