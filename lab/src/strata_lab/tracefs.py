"""Commands with a tracefs, on machines whose init system has not mounted one."""

from __future__ import annotations

from collections.abc import Sequence

from strata.host.instances import tracefs

_MOUNT = 'mount -t tracefs tracefs /sys/kernel/tracing && exec "$@"'


def with_tracefs(argv: Sequence[object]) -> list[str]:
    """The command, where tracefs is not mounted in a mount namespace of its own in which it is."""
    words = [str(a) for a in argv]
    return words if tracefs() else ["unshare", "--mount", "sh", "-c", _MOUNT, "sh", *words]
