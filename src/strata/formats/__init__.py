"""Others' formats. So far outward only: command lines that repeat a cell with another tool."""

from __future__ import annotations

from strata.formats.fio import fio_command

__all__ = ["fio_command"]
