"""The commands."""


def main() -> None:
    """Entry point of ``strata``."""
