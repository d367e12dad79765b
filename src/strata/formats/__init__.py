"""Others' formats: command lines that repeat a cell with another tool; others' tables, results and job files, read."""

from __future__ import annotations

from strata.formats.fio import fio_command
from strata.formats.fio_job import workloads_of_fio_job
from strata.formats.fio_json import read_fio
from strata.formats.table import read_table

__all__ = ["fio_command", "read_fio", "read_table", "workloads_of_fio_job"]
