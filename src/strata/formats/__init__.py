"""Others' formats: command lines that repeat a cell with another tool; others' tables, results and job files, read."""
