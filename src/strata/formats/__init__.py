"""Others' formats: command lines that repeat a cell with another tool; tables and results of others, read."""

from __future__ import annotations

from strata.formats.fio import fio_command
from strata.formats.fio_json import read_fio
from strata.formats.table import read_table

__all__ = ["fio_command", "read_fio", "read_table"]
