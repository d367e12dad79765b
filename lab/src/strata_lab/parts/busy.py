"""Uses one CPU until it is ended: another program beside a server."""

from __future__ import annotations


def main() -> None:
    """Never returns."""
    while True:
        pass


if __name__ == "__main__":
    main()
