"""``nfs://``: a file on an NFS server, version 3, without a mount."""

from collections.abc import Mapping, Sequence

from strata.schemes.declared import Scheme


def _problem(names: Sequence[str], query: Mapping[str, Sequence[str]]) -> str | None:
    if not any(names) or not names[-1]:
        return "the path of the file is missing"
    version = query.get("version", ["3"])[0]
    return None if version == "3" else f"version {version} of NFS is not supported, only 3"


SCHEME = Scheme(
    name="nfs",
    forms={"nfs": "nfs://host[:port]/export/path/file"},
    file=True,
    port=2049,
    problem=_problem,
    caches="this NFS client has no cache, and the server's cache",
    hint="check that the server is running and exports the path",
    not_fio="Strata does not run fio over nfs: its nfs engine is not in common builds; mount the export and measure "
    "file:/…",
)
