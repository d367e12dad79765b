"""Names of plans and runs: short enough to type, and they sort by time."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime


def new_id(now: datetime | None = None) -> str:
    """``YYYYMMDD-HHMMSS-xxxx`` in UTC, the last four hexadecimal and random.

    Two runs started in the same second share a name with a chance of 1 in 65 536; the store then refuses the
    second one, it never overwrites the first.
    """
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
