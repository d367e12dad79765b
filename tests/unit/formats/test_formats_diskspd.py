"""diskspd's command lines: the options, their defaults, and what cannot be carried."""

from __future__ import annotations

from typing import Any

import pytest

from strata.formats.command_line import commands_in, program_of
from strata.formats.diskspd_command import DiskspdCommand, workload_of_diskspd
from strata.model.workload import Workload
from strata.plan.words import workload_from_words


def read(line: str) -> DiskspdCommand:
    program, arguments = program_of(line) or ("", [])
    assert program == "diskspd"
    return workload_of_diskspd(arguments)


def workload(line: str) -> Workload:
    made = read(line)
    assert made.complaints == []
    return workload_from_words(**made.words)


LINES = [
    # Published: Windows servers' and clusters' tests, diskspd's own samples, results posted by users.
    ("diskspd.exe -r -t2 -b8K -d30 -L -o1 -w0 -D -h H:testfile.dat > 8KB_Random_Read.txt",
     "randread-8KiB-qd1-t2"),
    ("diskspd.exe -r -t2 -b128K -d30 -L -o1 -w0 -D -h H:testfile.dat", "randread-128KiB-qd1-t2"),
    ("diskspd.exe  -t2 -si64K -b64K -d30 -L -o1 -w100 -D -h H:testfile.dat",
     "write-64KiB-qd1-t2-dsync-interlocked"),
    ("diskspd.exe -c100G -t2 -si4K -b4K -d30 -L -o1 -w100 -D -h H:testfile.dat",
     "write-4KiB-qd1-t2-dsync-interlocked"),
    ("diskspd.exe -a0,1 -t2 -si4K -b4K -d30 -L -o1 -w100 -D H:testfile.dat",
     "write-4KiB-qd1-t2-buffered-interlocked"),
    ("diskspd -c2G -b4K -F8 -r -o32 -W60 -d60 -Sh testfile.dat", "randread-4KiB-qd32-t8"),
    ("diskspd -c2G -w100 -b4K -F8 -r -o32 -W60 -d60 -Sh testfile.dat", "randwrite-4KiB-qd32-t8-dsync"),
    ("diskspd -c2G -b4K -r -o1 -W60 -d60 -Sh testfile.dat", "randread-4KiB-qd1"),
    ("diskspd -c2G -b4K -F8 -T1b -s8b -o32 -W60 -d60 -Sh testfile.dat",
     "read-4KiB-qd32-t8-stride32k-apart4k"),
    ("diskspd -c2G -w100 -b4K -o1 -W60 -d60 -Sh testfile.dat", "write-4KiB-qd1-dsync"),
    ("diskspd -b8K -d30 -o4 -t8 -h -r -w25 -L -Z1G -c20G c:\\iotest.dat", "randrw75-8KiB-qd4-t8-dsync"),
    (r"C:\Users\admin\Desktop\diskspd.exe -b64K -d300 -L -o8 -t4 -r -w70 -c500M E:\Tes2.dat",
     "randrw30-64KiB-qd8-t4-buffered"),
    ('diskspd.exe -b512K -h -d300 "D:\\a folder\\x.vbk"', "read-512KiB-qd2"),
    (r".\diskspd.exe -d15 -o4 -t4 -b8k -r -L -w50 -c1G testdiskspd.dat", "randrw50-8KiB-qd4-t4-buffered"),
    ("& 'C:\\my tools\\DiskSpd.exe' /b8K /r /o2 #1", "randread-8KiB-qd2-buffered"),
    # One option each.
    ("diskspd x", "read-64KiB-qd2-buffered"),
    ("diskspd -S -b512 x", "read-512B-qd2"),
    ("diskspd -Su -w100 x", "write-64KiB-qd2"),
    ("diskspd -Suw -w100 x", "write-64KiB-qd2-dsync"),
    ("diskspd -Sbw -w100 x", "write-64KiB-qd2-buffered-dsync"),
    ("diskspd -Sb -w100 x", "write-64KiB-qd2-buffered"),
    ("diskspd -Sr -w0 x", "read-64KiB-qd2"),
    ("diskspd -Su -w x", "read-64KiB-qd2"),
    ("diskspd -Su -r4K -b8K x", "randread-8KiB-qd2-align4k"),
    ("diskspd -Su -r -rdpct90/10:0/10:5/20 x", "randread-64KiB-qd2-zones90in10_0in10_5in20"),
    ("diskspd -Su -b4K -r -rdabs90/10G:10/5b x", "randread-4KiB-qd2-zones90in10g_10in20k"),
    ("diskspd -Su -rs100 x", "randread-64KiB-qd2"),
    ("diskspd -Su -s1M x", "read-64KiB-qd2-stride1m"),
    ("diskspd -Su -si -t1 x", "read-64KiB-qd2"),
    ("diskspd -Su -B1G:2G x", "read-64KiB-qd2-from1gfor2g"),
    ("diskspd -Su -f4b x", "read-64KiB-qd2-from0bfor256k"),
    ("diskspd -Su -B1M -f3M -frs x", "read-64KiB-qd2-from1mfor2m"),
    ("diskspd -Su -g80 -t4 x", "read-64KiB-qd2-max320000Bps-t4"),
    ("diskspd -Su -g500i -t4 x", "read-64KiB-qd2-max2000iops-t4"),
    ("diskspd -Su -i8 -j20 -t2 x", "read-64KiB-qd2-think20000000nsx4-t2"),
    ("diskspd -Su -j5 x", "read-64KiB-qd2-think5000000ns"),
    ("diskspd -Su -w100 -Zr x", "write-64KiB-qd2-refill"),
    ("diskspd -Su -w100 -Z x", "write-64KiB-qd2-compress99"),
    ("diskspd -O4 -F2 -Su x", "read-64KiB-qd4-t2"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "key"), LINES, ids=[line for line, _ in LINES])
def test_a_line_and_its_workload(line: str, key: str) -> None:
    assert workload(line).key == key


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("diskspd -rs50 x", "-rs50"),
        ("diskspd -Sm x", "-Sm"),
        ("diskspd -Xprofile.xml x", "-Xprofile.xml"),
        ("diskspd -Nv x", "-Nv"),
        ("diskspd -q7 x", "-q7"),
        ("diskspd -b8Q x", "-b8Q"),
        ("diskspd -p -o4 x", "-p"),
        ("diskspd -rdpct90/10 x", "-rd"),
        ("diskspd -r -T1M -t2 x", "-r"),
        ("diskspd -si1M -b64K -t2 x", "-si1048576"),
        ("diskspd -i4 x", "-i4"),
        ("diskspd -O4 -F2 x y", "-O"),
        ("diskspd -t2 -F4 x", "-t"),
        ("diskspd -w101 x", "-w101"),
        ("diskspd -o x", "-o"),
        ("diskspd -f0K -B1M x", "-f and -B"),
        ("diskspd -Sxy x", "-Sxy"),
        ("diskspd -fzz x", "-fzz"),
    ],
)
def test_what_cannot_be_carried_is_named(line: str, named: str) -> None:
    complaints = read(line).complaints
    assert len(complaints) == 1
    assert complaints[0].partition(":")[0].startswith(named)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("diskspd -t4 x", "without -T all 4 threads"),
        ("diskspd -w100 x", "repeats every 256 bytes"),
        ("diskspd -w100 -Z x", "zeros"),
        ("diskspd -w100 -Z1M,data.bin x", "data.bin"),
        ("diskspd -Sr x", "server"),
        ("diskspd -ag0,1 -d60 -W5 -C2 -n x", "ignored: -ag0,1 -d60 -W5 -C2 -n"),
        ("diskspd a b c", "3 targets"),
        ("diskspd -g100 -j5 x", "ignores it with -g"),
    ],
)
def test_what_differs_is_noted(line: str, said: str) -> None:
    made = read(line)
    assert made.complaints == []
    assert any(said in note for note in made.notes)


def test_a_plain_line_has_nothing_to_note() -> None:
    assert read("diskspd -b8K -r -o8 -Sh x").notes == []


def test_the_seed_is_carried() -> None:
    assert workload("diskspd -z42 x").seed == 42
    assert workload("diskspd -z x").seed == 1


def test_commands_among_other_text() -> None:
    text = (
        "# diskspd -b1K comment\n"
        "Command Line: C:\\t\\diskspd.exe -b8K x\n"
        "fio and diskspd are compared\n"
        "Results of fio and diskspd follow in the next part of this text, where fio --name=x is no command\n"
        "sudo fio --name=a \\\n  --rw=read\n"
        "diskspd -b4K ^\r\n  -r x | tee y\n"
    )
    assert list(commands_in(text)) == [
        "C:\\t\\diskspd.exe -b8K x",
        "sudo fio --name=a --rw=read",
        "diskspd -b4K -r x | tee y",
    ]
    found: Any = [program_of(line) for line in commands_in(text)]
    assert found == [("diskspd", ["-b8K", "x"]), ("fio", ["--name=a", "--rw=read"]), ("diskspd", ["-b4K", "-r", "x"])]
