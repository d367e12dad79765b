"""The bench of the matrix: tables with a known truth, and real endpoints against a long reference."""
