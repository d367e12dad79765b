"""Others' formats: command lines that repeat a cell with another tool; others' tables, results and job files, read."""

from __future__ import annotations

from strata.formats.command_line import commands_in, program_of
from strata.formats.counter_sets import as_ours
from strata.formats.diskspd import DiskspdWords, diskspd_line, diskspd_words
from strata.formats.diskspd_command import DiskspdCommand, workload_of_diskspd
from strata.formats.fio import fio_command
from strata.formats.fio_job import job_of_fio_line, workloads_of_fio_job
from strata.formats.results._table import table_of as table_of_import
from strata.formats.table import numbers_not_read, read_table

__all__ = [
    "DiskspdCommand",
    "DiskspdWords",
    "as_ours",
    "commands_in",
    "diskspd_line",
    "diskspd_words",
    "fio_command",
    "job_of_fio_line",
    "numbers_not_read",
    "program_of",
    "read_table",
    "table_of_import",
    "workload_of_diskspd",
    "workloads_of_fio_job",
]
