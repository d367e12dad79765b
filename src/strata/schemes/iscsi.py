"""``iscsi://``: a logical unit of an iSCSI target, without the system's initiator."""

from collections.abc import Mapping, Sequence

from strata.schemes.declared import Scheme


def _problem(names: Sequence[str], _query: Mapping[str, Sequence[str]]) -> str | None:
    there = [name for name in names if name]
    return None if len(there) == 2 and there[1].isdigit() else "target and logical unit are missing"


SCHEME = Scheme(
    name="iscsi",
    forms={"iscsi": "iscsi://host[:port]/iqn.2026-01.example:target/lun"},
    file=False,
    port=3260,
    problem=_problem,
    caches="an iSCSI client has no cache, and the server's cache",
    hint="check that the target is running, and its name and LUN",
    not_fio="Strata does not run fio over iscsi: its libiscsi engine is not in common builds; log in with the system's "
    "initiator and measure block:/dev/…",
    figure="iqn.2000-01.invalid:figures/0",
)
