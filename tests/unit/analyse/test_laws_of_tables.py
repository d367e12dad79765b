"""Each law of a table catches its violation and is silent where it holds."""

from __future__ import annotations

import pytest

from strata.analyse.laws import ask, check_table, laws
from strata.formats.table import read_table
from strata.model.figures import Flag

BROKEN: dict[str, str] = {
    "little": "iops,outstanding,time.mean [ms]\n40000,8,1\n",
    "rate": "iops,size,rate [MiB/s]\n1000,1M,1000\n2000,1M,2000\n3000,1M,300\n4000,1M,4000\n",
    "unit-label": "iops,size,rate [MB/s]\n1000,1M,1000\n2000,1M,2000\n3000,1M,3000\n",
    "parts": "name,thread,iops\na,0,1000\nb,1,2000\nc,total,4000\n",
    "utilisation": "busy [%]\n104\n",
    "samples": "time.p50 [us],time.p99 [us]\n300,200\n",
    "mean": "time.mean [us],time.p50 [us],time.p99 [us]\n50,120,300\n",
    "tail": "time.mean [us],time.p50 [us],time.p99 [us]\n50,6,23\n",
    "cap": "iops,cap\n1000,1000\n",
    "execution": "role,test,depth\nplanned,a,8\nmeasured,a,16\n",
    "interleaved": "pattern,threads\nseq write,2\n",
    "seed": "pattern,seed,round,iops\nrand read,1,0,10\nrand read,1,1,12\n",
    "faster-than-below": "layer,below,iops,caching\ndisk,,1000,off\nshare,disk,1200,off\n",
    "cache": "file,cache,caching\n1G,4G,on\n",
    "scaling": "threads,iops\n1,1000\n2,2500\n",
    "larger": "size,depth,iops\n512,8,1000\n4K,8,1300\n",
    "copied": "pattern,size,iops,time.mean [us]\nrand read,4K,12345,647.9\nrand read,8K,12345,647.9\n",
    "counted": "ios,seconds [s],iops\n600000,60,20000\n",
    "subtracted": "time.p99 [us],time.p99.server [us],time.p99.wire [us]\n204,176,28\n153,119,34\n197,159,38\n",
    "linked": "rate [MB/s],link [Gb/s]\n1638,10\n",
    "repeated": "layer,pattern,size,iops\na,rand read,4K,8000\na,rand read,4K,3000\n",
    "spread": "iops,deviation\n8000,6000\n",
    "errors": "iops,errors\n8000,12\n",
    "rotation": "pattern,outstanding,time.mean [ms],rpm\nrand read,1,1.1,7200\n",
    "equal": "layer,below,iops,claim\ndisk,,8000,\nshare,disk,5000,equal\n",
    "pinned": "# pinned = 0\ncpu,busy [%]\n0,20\n1,40\n",
    "cost": "# clock [GHz] = 2\n# cores = 16\nbusy [%],rate [MB/s],cost\n50,1000,8\n",
    "change": "before,after,change [%]\n200,250,20\n",
    "quotes": "role,iops,time.p90 [us]\nmeasured,1000,50\nmeasured,2000,90\nsaid,2000,50\n",
    "constant": "role,threads,time.p90 [us],constant\nmeasured,1,100,\nmeasured,2,130,\nsaid,,,time.p90\n",
    "quantised": "iops,outstanding,time.mean [s]\n17000,8,0\n800,8,0.01\n",
    "pieces": "size,unit,pieces\n32K,64K,1\n",
    "directions": "wire.total [GiB/s],wire.sent [GiB/s],wire.received [GiB/s]\n3,2,1\n",
    "copies": "owner,pattern,disk,rate [GiB/s],wire.total [GiB/s],device [GiB/s]\nyes,seq write,physical,1,2,1\n",
    "nearness": "iops,ref.a,ref.b\n100,100,102\n",
    "criterion": "role,layer,pattern,iops,order\n,a,r,100,\n,a,w,90,\n,b,r,100,\n,b,w,10,\nsaid,,,,r >= w\n",
    "multiplied": "# count.before = 4\n# count.after = 8\nrole,of,before,after,ratio\n,time,100,90,\nsaid,,,,2\n",
    "limit": "role,threads,iops,busy.server [%],limit\n,1,100,20,\n,2,180,40,\n,4,200,50,\nsaid,,,,server\n",
    "controllers": "count.disks,count.controllers\n8,1\n",
    "virtual-disks": "count.disks\n1\n",
    "controller-cpu": "busy.controller [%]\n95\n",
    "controller-size": "cores.controller,count.workers\n8,7\n",
    "controller-memory": "hits.metadata [%]\n90\n",
    "hit-share": "pattern,file,cache,caching,reached\nrand read,8G,4G,on,0.95\n",
    "paths": "count.paths,count.nodes\n1,4\n",
    "proportion": "# count.before = 4\n# count.after = 8\nof,before,after\nrate,1000,2600\n",
}
HOLDS: dict[str, tuple[str, ...]] = {
    "little": (
        "iops,outstanding,time.mean [ms]\n8000,8,1\n",
        "iops,depth,threads,time.mean [ms]\n8000,4,2,1\n",
        "iops,outstanding,time.service [ms]\n100,8,1\n",
        "iops,outstanding,time.mean [ms],loop\n40000,8,1,open\n",
        "iops,outstanding,time.mean [ms],ios\n40000,8,1,50\n",
        "role,ratio.time,ratio.iops\nsaid,2,0.5\n",
        # Stalls of 0.2 s in spans of 0.7 s: what began before the span counts whole.
        "iops,outstanding,time.mean [ms],ios,rounds,edge [%]\n1794,8,4.8,3767,3,30\n",
    ),
    "rate": ("iops,size,rate [MB/s]\n359,8K,2\n19906,8K,155\n273,8K,2\n", "ios,bytes,size\n10,40960,4K\n"),
    "unit-label": ("iops,size,rate [MiB/s]\n1000,1M,1000\n", "iops,size,rate [MB/s]\n1000,1M,1048\n"),
    "parts": (
        "name,thread,iops\na,0,1000\nb,1,2000\nc,total,3000\n",
        "busy [%],busy.user [%],busy.kernel [%],idle [%]\n17.39,2.29,15.10,82.57\n",
        "time.p90 [us],time.p90.server [us],time.p90.wire [us]\n204,176,29\n",
        "cpu,busy [%]\n0,10\n1,20\navg,15\n",
    ),
    "utilisation": ("busy [%],idle [%]\n100.0,0\n", "link [Gb/s],wire.sent [GiB/s]\n54,2\n"),
    "samples": ("time.p50 [us],time.p99 [us],ios\n100,200,10000\n",),
    "mean": (
        "time.mean [us],time.p50 [us],time.p99 [us]\n64,120,300\n",
        "time.mean [us],time.min [us],time.p50 [us],time.max [us]\n100,10,50,150\n",
        "time.mean [us],time.p50 [us],time.p99 [us],rounds\n50,120,300,3\n",
    ),
    "tail": ("time.mean [us],time.p50 [us],time.p99 [us]\n50,45,200\n",),
    "cap": ("iops,cap\n800,1000\n",),
    "execution": (
        "role,test,depth,size\nplanned,a,8,64KB\nmeasured,a,8,64K\n",
        "role,depth\nplanned,1\nplanned,8\nmeasured,8\n",
    ),
    "interleaved": (
        "pattern,threads\nseq write,1\n",
        "pattern,threads\nseq read,4\n",
        "pattern,threads\nrandwrite,4\n",
    ),
    "seed": ("pattern,seed,round,iops\nrand read,1,0,10\nrand read,2,1,12\n", "pattern,seed\nseq read,1\nseq read,1\n"),
    "faster-than-below": ("layer,below,iops,caching\ndisk,,1000,off\nshare,disk,1040,off\n",),
    "cache": ("file,cache,caching\n1G,4G,off\n", "file,cache,caching\n8G,4G,on\n", "reached\n0.98\n"),
    "scaling": ("threads,iops\n1,1000\n2,1990\n", "threads,size,iops\n1,4K,1000\n2,8K,3000\n"),
    "larger": (
        "size,depth,iops\n512,8,1000\n4K,8,1100\n",
        "size,depth,iops\n4K,8,1000\n8K,16,1900\n",
        "pattern,size,iops\nrand read,4K,100\nseq read,8K,900\n",
    ),
    "copied": (
        "pattern,size,iops,time.mean [us]\nrand read,4K,12345,647.9\nrand read,8K,12346,647.9\n",
        "pattern,size,iops,time.mean [us]\nrand read,4K,500,20\nrand read,8K,500,20\n",
        "pattern,size,thread,iops,time.mean [us]\nrand read,4K,0,12345,647.9\nrand read,4K,total,12345,647.9\n",
    ),
    "counted": ("ios,seconds [s],iops\n600000,60,10050\n", "bytes,seconds [s],rate [MB/s]\n6000000000,60,100\n"),
    "subtracted": (
        "time.p99 [us],time.p99.server [us],time.p99.wire [us]\n204,176,28\n153,119,34\n197,159,31\n",
        "time.mean [us],time.mean.server [us],time.mean.wire [us]\n204,176,28\n153,119,34\n197,159,38\n",
    ),
    "linked": ("rate [MB/s],link [Gb/s]\n1138,10\n", "# count.links = 2\nrate [MB/s],link [Gb/s]\n1638,10\n"),
    "repeated": (
        "layer,pattern,size,iops\na,rand read,4K,8000\na,rand read,4K,7900\n",
        "layer,round,pattern,size,iops\na,0,rand read,4K,8000\na,1,rand read,4K,3000\n",
    ),
    "spread": ("iops,deviation\n8000,600\n",),
    "errors": ("iops,errors,short\n8000,0,0\n",),
    "rotation": ("pattern,outstanding,time.mean [ms],rpm\nrand read,1,8.1,7200\nrand read,32,1.1,7200\n",),
    "equal": ("layer,below,iops,claim\ndisk,,8000,\nshare,disk,7900,equal\n",),
    "pinned": ("# pinned = 1\ncpu,busy [%]\n0,20\n1,40\n", "cpu,busy [%]\n0,20\n1,40\n"),
    "cost": ("# clock [GHz] = 2\n# cores = 16\nbusy [%],rate [MB/s],cost\n50,1000,16\n",),
    "change": (
        "before,after,change [%]\n200,250,25\n",
        "before,after,change [%]\n~330000,~460000,36\n",
        "before,after,difference\n144,129,-15\n",
    ),
    "quotes": ("role,iops,time.p90 [us]\nmeasured,1000,50\nmeasured,2000,90\nsaid,~2000,90\n",),
    "constant": ("role,threads,time.p90 [us],constant\nmeasured,1,100,\nmeasured,2,110,\nsaid,,,time.p90\n",),
    "quantised": ("iops,outstanding,time.mean [s]\n800,8,0.01\n", "iops,size,rate [MB/s]\n359,8K,2.8\n273,8K,2.1\n"),
    "pieces": ("size,unit,pieces\n32K,4K,8\n", "size,unit,align,pieces\n128K,64K,64K,2\n128K,64K,4K,3\n"),
    "directions": ("wire.total [GiB/s],wire.sent [GiB/s],wire.received [GiB/s]\n2,2,0\n",),
    "copies": (
        "owner,pattern,disk,rate [GiB/s],wire.total [GiB/s],device [GiB/s]\nyes,seq write,virtual,1,2,1\n",
        "owner,pattern,disk,rate [GiB/s],wire.total [GiB/s],device [GiB/s]\nyes,seq write,physical,1,1,2\n",
    ),
    "nearness": ("# link [Gb/s] = 10\nsize,iops,ref.network,ref.storage\n128K,8000,8000,20000\n",),
    "criterion": ("role,layer,pattern,iops,order\n,a,r,100,\n,a,w,90,\n,b,r,98,\n,b,w,88,\nsaid,,,,r >= w\n",),
    "multiplied": ("# count.before = 4\n# count.after = 8\nrole,of,before,after,ratio\n,time,100,52,\nsaid,,,,2\n",),
    "limit": ("role,threads,iops,busy.server [%],limit\n,1,100,20,\n,2,180,40,\n,4,200,99,\nsaid,,,,server\n",),
    "controllers": (
        "count.disks,count.controllers\n16,4\n2,2\n",
        "count.disks,count.controllers,outstanding,count.queue\n4,4,256,64\n",
    ),
    "virtual-disks": ("count.disks\n4\n16\n", "count.disks,outstanding,count.queue\n1,32,64\n"),
    "controller-size": ("cores.controller,count.workers\n8,6\n10,8\n", "cores.controller\n8\n10\n"),
    "controller-cpu": ("busy.controller [%]\n60\n", "busy.controller [%],cores.controller,count.workers\n60,8,6\n"),
    "controller-memory": (
        "hits.metadata [%],hits.data [%]\n100,50\n99.5,20\n",
        "memory.controller [GiB],memory.node [GiB]\n32,128\n",
    ),
    "hit-share": (
        "pattern,file,cache,caching,reached\nrand read,8G,4G,on,0.52\n",
        "pattern,file,cache,caching,reached\nrand read,8G,4G,on,0.5\nrand read,8G,4G,off,0.95\nseq read,8G,4G,on,1\n",
    ),
    "paths": ("count.paths,count.nodes\n4,4\n8,4\n",),
    "proportion": (
        "# count.before = 4\n# count.after = 8\nof,before,after\nrate,1000,2030\n",
        "# count.before = 4\n# count.after = 8\nof,test,before,after\ntime,task,144,129\ntime,,10,2\nrate,,10,11\n",
    ),
}
TABLE_LAWS = [law.name for law in laws() if law.table is not None]


def found(text: str) -> list[Flag]:
    return list(check_table(read_table(text, "t")))


def test_every_law_of_tables_is_shown_here() -> None:
    assert set(BROKEN) == set(HOLDS) == set(TABLE_LAWS)


@pytest.mark.parametrize("law", TABLE_LAWS)
def test_a_violation_is_found_with_a_reason_and_a_next_step(law: str) -> None:
    flags = [f for f in found(BROKEN[law]) if f.law == law]
    assert len(flags) == 1
    assert flags[0].reason and flags[0].next_step.endswith(".")


@pytest.mark.parametrize("law", TABLE_LAWS)
def test_figures_that_hold_are_left_alone(law: str) -> None:
    for text in HOLDS[law]:
        assert [f for f in found(text) if f.law == law] == [], text


@pytest.mark.parametrize("law", TABLE_LAWS)
def test_a_law_is_asked_where_it_has_its_figures_and_not_where_any_of_them_is_taken_away(law: str) -> None:
    """What holds is asked as well as what is broken; a law without figures is not said to hold."""
    assert law in ask(read_table(BROKEN[law], "t")).asked
    assert any(law in ask(read_table(text, "t")).asked for text in HOLDS[law])
    table = read_table(BROKEN[law], "t")
    rows = tuple(row.model_copy(update={"figures": {}, "words": row.words}) for row in table.rows)
    assert law not in ask(table.model_copy(update={"rows": rows})).asked


def test_a_time_and_a_rate_say_nothing_of_each_other_without_what_is_outstanding() -> None:
    told = ask(read_table("iops,time.mean [ms]\n100,1\n200,2\n", "t"))
    assert set(told.asked) == {"quantised"} and not told.flags


def test_only_one_of_many_rows_is_the_odd_one() -> None:
    flags = found(BROKEN["rate"])
    assert [(f.law, f.row) for f in flags] == [("rate", "line 4")]
    assert "3 of 4 rows" in flags[0].reason


def test_a_column_that_follows_no_reading_is_flagged_once() -> None:
    flags = [f for f in found("iops,size,rate [MiB/s]\n1000,1M,7\n2000,1M,9\n3000,1M,11\n") if f.law == "rate"]
    assert [(f.row, f.column) for f in flags] == [("", "rate")]


def test_an_unlabelled_rate_is_read_as_what_its_rows_agree_with() -> None:
    assert found("iops,size,rate\n1000,1M,1000\n2000,1M,2000\n3000,1M,3000\n") == []
    assert [f.row for f in found("iops,size,rate\n1000,1M,1000\n2000,1M,2000\n3000,1M,300\n")] == ["line 4"]


def test_directions_are_held_to_the_depth_together() -> None:
    head = "iops.read,time.mean.read [us],iops.write,time.mean.write [us],outstanding\n"
    assert found(head + "26377.6,73.2,11267.7,182.3,4\n") == []
    flags = found(head + "26377.6,73.2,11267.7,382.3,4\n")
    assert [(f.law, f.broken) for f in flags] == [("little", True)]


def test_an_idle_resource_is_not_the_limit_because_a_figure_is_near_its_own() -> None:
    flags = found("# link [Gb/s] = 54\nsize,iops,ref.network,ref.storage\n8K,835,810,17311\n")
    assert [f.law for f in flags] == ["nearness"]
    assert "used for 0.10 %" in flags[0].reason


def test_a_planned_file_and_reads_that_never_reached_the_device() -> None:
    assert [(f.law, f.broken) for f in found("reached,caching\n0.01,off\n")] == [("cache", True)]


def test_settings_that_no_plan_has_are_told_once() -> None:
    flags = found("role,depth\nplanned,1\nplanned,4\nmeasured,8\nmeasured,8\n")
    assert [(f.law, f.row, f.column) for f in flags] == [("execution", "", "depth")]


@pytest.mark.parametrize(("mean", "broken"), [(27, True), (29, False), (99, False), (105, True)])
def test_a_mean_lies_between_what_the_percentiles_add_up_to(mean: int, broken: bool) -> None:
    # Half at least 10 and half at least 50: 30, less two per cent; half at most 50 and half at most 150: 100, and two.
    flags = found(f"time.mean [us],time.min [us],time.p50 [us],time.max [us]\n{mean},10,50,150\n")
    assert [f.law for f in flags if f.law == "mean"] == ["mean"] * broken


@pytest.mark.parametrize(
    "text",
    [
        "iops,outstanding,time.mean [ms]\n40000,0,1\n",
        "role,ratio.time,ratio.iops\nsaid,0,0.5\n",
        "threads,iops\n0,1000\n2,2500\n",
        "role,name,constant,threads,time.mean [ms]\nmeasured,a,,1,0\nmeasured,a,,2,7\nsaid,c,time.mean,,\n",
        "pattern,size,depth,iops\nread,4K,8,0\nread,64K,8,9000\n",
        "whole,part,count\n8,2,18446744073709551616\n",
        "iops,time.mean [ms]\n1e99,1e99\n",
    ],
)
def test_figures_of_zero_and_beyond_all_measure_end_no_law(text: str) -> None:
    """Each of them did, or took the time of counting to 2^64."""
    assert ask(read_table(text, "t")).flags is not None


def test_what_the_queues_of_controllers_do_not_take_waits_in_the_guest() -> None:
    flags = found("count.disks,count.controllers,outstanding,count.queue\n4,4,512,64\n")
    (one,) = [f for f in flags if f.law == "controllers"]
    assert one.numbers["waiting"] == 256 and "50.0 % wait" in one.reason


def test_processors_that_the_data_path_may_not_use_do_not_count() -> None:
    flags = found("busy.controller [%],cores.controller,count.workers\n70,8,6\n")
    assert [f.law for f in flags if f.law == "controller-cpu"] and "6 of 8" in flags[0].reason


def test_a_cache_that_answers_more_than_it_holds_is_not_the_only_one() -> None:
    (one,) = [f for f in found("pattern,file,cache,caching,reached\nrand read,8G,2G,on,0.3\n") if f.law == "hit-share"]
    assert "another cache" in one.reason and one.numbers == {"hits": 0.7, "share": 0.25}


def test_a_task_that_became_shorter_than_what_was_added_allows_is_told() -> None:
    flags = found("# count.before = 4\n# count.after = 8\nof,test,before,after\ntime,task,100,30\n")
    assert [f.law for f in flags] == ["proportion"]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("hits.data [%],hits.metadata [%]\n5,100\n", "hits.data"),
        ("hits.data [%],hits.metadata [%]\n50,98\n", "hits.metadata"),
        ("memory.controller [GiB],memory.node [GiB]\n160,128\n", "memory.controller"),
    ],
)
def test_each_rule_of_a_controllers_memory_names_its_figure(text: str, column: str) -> None:
    assert [f.column for f in found(text) if f.law == "controller-memory"] == [column]


SOUND = {
    "count.disks": "4", "count.controllers": "4", "count.queue": "64", "outstanding": "128", "cores.controller": "8",
    "count.workers": "6", "busy.controller [%]": "60", "hits.data [%]": "50", "hits.metadata [%]": "100",
    "memory.controller [GiB]": "32", "memory.node [GiB]": "96", "count.paths": "4", "count.nodes": "4",
}  # fmt: skip
"""A machine and its storage controller that keep the printed rules (`tests/data/printed/nutanix-rules.csv`)."""


@pytest.mark.parametrize(
    ("changed", "law"),
    [
        ({}, None),
        ({"count.disks": "3", "count.controllers": "3"}, "virtual-disks"),
        ({"count.controllers": "1", "outstanding": "32"}, "controllers"),
        ({"outstanding": "512"}, "controllers"),
        ({"count.workers": "7"}, "controller-size"),
        ({"count.workers": "5", "busy.controller [%]": "50"}, "controller-size"),
        ({"busy.controller [%]": "72"}, "controller-cpu"),
        ({"hits.data [%]": "5"}, "controller-memory"),
        ({"hits.metadata [%]": "98"}, "controller-memory"),
        ({"memory.controller [GiB]": "128"}, "controller-memory"),
        ({"count.paths": "3"}, "paths"),
    ],
)
def test_a_table_that_keeps_the_printed_rules_is_left_alone_and_each_violation_is_flagged(
    changed: dict[str, str], law: str | None
) -> None:
    row = SOUND | changed
    text = f"{','.join(row)}\n{','.join(row.values())}\n"
    table = read_table(text, "t")
    told = ask(table)
    assert {"virtual-disks", "controllers", "controller-size", "controller-cpu", "controller-memory", "paths"} <= {
        *told.asked
    }
    assert [f.law for f in told.flags] == ([] if law is None else [law])


def test_sizes_of_a_controller_that_are_one_processor_apart_are_not_compared() -> None:
    flags = found("cores.controller,count.workers\n8,6\n9,7\n")
    assert [(f.law, f.numbers) for f in flags] == [("controller-size", {"small": 8, "large": 9})]
