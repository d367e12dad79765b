"""Files past the page cache, for a server that knows no unbuffered I/O: a directory of a lab, served by the lab.

smbd and most others read and write through the page cache of their machine, so that a file which fits into memory is
answered without its medium. Below such a directory each of their reads and writes is one of the medium. A file may also
be one of another node: then the directory stands for a mounted share, whose client is Strata's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from strata.host import programs
from strata.model import smb_uri
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.parts.direct import DirectPart
from strata_lab.undo import mounted

__all__ = ["DirectPart", "files"]
PASSWORD = "STRATA_SMB_PASSWORD"


def files(
    lab: Lab,
    node: LabNode,
    name: str,
    *,
    lower: Path | None = None,
    parts: Sequence[DirectPart] = (),
    remotes: Mapping[str, str] | None = None,
) -> Path:
    """The regular files of ``lower``, the ``parts``, and ``remotes`` (URIs by name, dialled from ``node``).

    They appear in a new directory of the lab, which is returned. All SMB addresses have one password. Raises
    `RunFailed` with the process's words.
    """
    home = lab.dir("direct") / name
    home.mkdir()
    # It takes its mount along when it ends; killed, it leaves it behind.
    lab.undo("mount", path=str(home))
    words = programs.python("strata_lab.parts.direct", str(home))
    words += ["--lower", str(lower)] if lower is not None else []
    words += [word for part in parts for word in ("--part", part.word)]
    secrets: dict[str, str] = {}
    for file, uri in (remotes or {}).items():
        # By the environment: the arguments of a process can be read by everybody.
        address, password = smb_uri.split(uri)
        secrets |= {} if password is None else {PASSWORD: password}
        words += ["--remote", f"{file}={address}"]
    lab.run(node, words, name=f"direct-{name}", wait_for=lambda: mounted(str(home)), env=secrets)
    return home
