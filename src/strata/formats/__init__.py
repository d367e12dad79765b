"""Others' formats: command lines that repeat a cell with another tool, and workloads from other tools' job files."""

from __future__ import annotations

from strata.formats.fio import fio_command
from strata.formats.fio_job import workloads_of_fio_job

__all__ = ["fio_command", "workloads_of_fio_job"]
