"""Results of other tools with figures of a test's choice, made from the fixtures: none of them was measured."""

from __future__ import annotations

import re
from pathlib import Path

XML = (Path(__file__).resolve().parents[1] / "data" / "imports" / "diskspd-windows.xml").read_text()


def diskspd(
    folder: Path, name: str, iops: int, *, threads: int = 1, host: str = "NODE-1", tool: str = "2.1.0",
    rw: str = "write",
) -> None:  # fmt: skip
    """A result at depth 8 in all, as diskspd writes it; of two threads with the offsets that a diagnosis asks for.

    Made from the writer's source, as the fixture is.
    """
    each, reads = 8 // threads, rw.endswith("read")
    order = "<Random>8192</Random>" if rw.startswith("rand") else f"<StrideSize>{8192 * threads}</StrideSize>"
    text = XML.replace("<Random>65536</Random>", order)
    text = text.replace("65536</BlockSize>", "8192</BlockSize>").replace("NODE-1", host)
    text = text.replace("2.1.0-dev", tool).replace("<WriteRatio>0<", f"<WriteRatio>{0 if reads else 100}<")
    text = text.replace("<RequestCount>4<", f"<RequestCount>{each}<").replace("<WriteThrough>true</WriteThrough>", "")
    text = text.replace("<ThreadsPerFile>2<", f"<ThreadsPerFile>{threads}<")
    text = text.replace("<ThreadStride>0<", f"<ThreadStride>{8192 if threads > 1 else 0}<")
    ios = iops * 10 // 2
    done, other = ("Read", "Write") if reads else ("Write", "Read")
    text = re.sub(rf"<(BytesCount|{done}Bytes)>\d+<", rf"<\g<1>>{ios * 8192}<", text)
    text = re.sub(rf"<(IOCount|{done}Count)>\d+<", rf"<\g<1>>{ios}<", text)
    text = re.sub(rf"<({other}Bytes|{other}Count)>\d+<", r"<\g<1>>0<", text)
    text = re.sub(
        r"<Iops>.*?</Iops>|<Latency>.*?</Latency>|<AverageRead.*?>.*?>|<ReadLat.*?>.*?>", "", text, flags=re.S
    )
    (folder / name).write_text(text)


def loaded(folder: Path, ahead_s: float, iops: float = 17_000) -> None:
    """Performance Monitor's CSV of the disk in the 15 s that the result took with its warm-up, and of a minute of rest
    on both sides, by a clock that is so far ahead. Made up, as the fixture is."""
    lines = ['"(PDH-CSV 4.0) (UTC)(0)","\\\\NODE-1\\PhysicalDisk(0 D:)\\Disk Writes/sec"']
    begin = 5 * 3600 + 6 * 60 + 7 + ahead_s
    for at in range(round(begin) - 60, round(begin) + 75):
        share = max(0.0, min(at, begin + 15) - max(at - 1, begin))
        lines.append(f'"03/04/2023 {at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}.000","{share * iops + 3:.3f}"')
    (folder / "perfmon.csv").write_text("\n".join(lines))
