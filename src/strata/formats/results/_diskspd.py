"""What diskspd's two outputs have in common: the settings of a target as words of a workload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WHEN = "%Y/%m/%d %H:%M:%S UTC"
SPANS_MOST = 1000
"""Time spans of one result."""


@dataclass
class DiskspdTarget:
    """What was asked of one target; None where it is not said. Sizes in bytes."""

    path: str = ""
    block: int | None = None
    write: int | None = None
    random: bool | None = None
    align: int | None = None
    apart: int | None = None
    """Between the starts of neighbouring threads."""
    interlocked: bool = False
    depth: int | None = None
    threads: int | None = None
    direct: bool | None = None
    through: bool = False
    size: int | None = None
    ceiling: float | None = None
    ceiling_bytes: float | None = None
    mapped: bool = False
    spread: bool = False

    def words(self, threads: int | None, depth: int | None) -> tuple[dict[str, Any], tuple[str, ...]]:
        """(words of `strata.model.workload_options`, what cannot be carried). ``threads``, ``depth``: of the time span,
        where they are not of the target."""
        words: dict[str, Any] = {}
        wrong: list[str] = []
        many = self.threads or threads
        if self.write is None or self.random is None:
            wrong.append("the pattern is not said")
        else:
            kind = "read" if self.write == 0 else "write" if self.write == 100 else "rw"
            words["rw"] = f"rand{kind}" if self.random else kind
            if kind == "rw":
                words["rwmixread"] = 100 - self.write
        for name, value in (("bs", self.block), ("iodepth", self.depth or depth), ("threads", many)):
            if value is None:
                wrong.append(f"{name} is not said")
            else:
                words[name] = value
        words["direct"] = bool(self.direct)
        if self.through and self.write:
            words["sync"] = "dsync"
        wide = self.align is not None and self.align != self.block
        if wide:
            words["blockalign" if self.random else "stride"] = self.align
        if self.apart and not self.random and not self.interlocked and (many or 1) > 1:
            words["offset_increment"] = self.apart
        if self.interlocked and not self.random and (many or 1) > 1:
            words["interlocked"] = True
        if self.ceiling:
            words["limit_iops"] = self.ceiling * (many or 1)
        if self.ceiling_bytes:
            words["limit_bytes"] = self.ceiling_bytes * (many or 1)
        if self.mapped:
            wrong.append("memory-mapped I/O is not supported")
        if self.spread:
            wrong.append("its random offsets are not uniform (-rd, -rs)")
        return words, tuple(wrong)


def asked_of(
    targets: list[DiskspdTarget], threads: int | None, depth: int | None
) -> tuple[dict[str, Any], tuple[str, ...], dict[str, str]]:
    """(words, what cannot be carried, labels) of all targets of a time span together."""
    if not targets:
        return {}, ("its settings are not said",), {}
    words, wrong = targets[0].words(threads, depth)
    labels = {"target": " + ".join(t.path for t in targets if t.path)[:512]}
    if any(t.words(threads, depth)[0] != words for t in targets[1:]):
        return {}, ("its targets have different settings",), labels
    if len(targets) > 1 and targets[0].threads:
        words["threads"] = targets[0].threads * len(targets)
    elif len(targets) > 1:
        wrong = (*wrong, f"its threads share {len(targets)} targets (-F)")
    return words, wrong, labels
