"""Files past the page cache, for a server that knows no unbuffered I/O: a directory of a lab, served by the lab.

smbd and most others read and write through the page cache of their machine, so that a file which fits into memory is
answered without its medium. Below such a directory each of their reads and writes is one of the medium.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from strata.lab import disks
from strata.lab.lab import Lab
from strata.lab.nodes import Node
from strata.lab.parts.direct import Part
from strata.lab.servers import nbdfuse
from strata.lab.undo import mounted

__all__ = ["Part", "files", "remote"]


def files(lab: Lab, name: str, *, lower: Path | None = None, parts: Sequence[Part] = ()) -> Path:
    """The regular files of ``lower`` and the ``parts``, in a new directory of the lab; that directory.

    Raises `RunFailed` with the process's words.
    """
    home = lab.dir("direct") / name
    home.mkdir()
    # It takes its mount along when it ends; killed, it leaves it behind.
    lab.undo("mount", path=str(home))
    words = [sys.executable, "-m", "strata.lab.parts.direct", str(home)]
    words += ["--lower", str(lower)] if lower is not None else []
    words += [word for part in parts for word in ("--part", part.word)]
    lab.run(None, words, name=f"direct-{name}", wait_for=lambda: mounted(str(home)))
    return home


def remote(lab: Lab, node: Node, uri: str, *, name: str, file: str) -> Part:
    """What an NBD server exports, dialled from ``node``, as the file ``file`` of such a directory."""
    path = nbdfuse.mount(lab, node, uri, name=name)
    # The loop device takes writes at once that the kernel would let into nbdfuse's file one after the other.
    return Part(file, disks.attach(lab, path), 0, path.stat().st_size)
