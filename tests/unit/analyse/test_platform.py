"""The fields of surveys in words, and what differs between nodes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from surveys import DISK, GOOD, PART

from strata.analyse.platform import compare_surveys, facts_of, machines_compared
from strata.model.fact import Fact, FieldRole
from strata.model.hardware import Health, Interface, Tier
from strata.model.survey import Survey
from strata.model.survey_compared import Agreement, ComparedSurveys
from strata.report.survey_compare_text import (
    headline,
    machines_lines,
    shown,
    survey_compare_markdown,
    survey_compare_text,
)
from strata.report.text_layout import Paint


def node(name: str, **facts: Any) -> Survey:
    return GOOD.model_copy(update={"hostname": name, **facts})


def differing(found: ComparedSurveys) -> dict[str, tuple[str | None, ...]]:
    return {field.name: field.values for field in found.fields if field.agreement is not Agreement.SAME}


def test_nodes_that_are_alike_differ_in_nothing() -> None:
    found = compare_surveys([node("a"), node("b")])
    assert differing(found) == {}
    assert len(found.fields) > 20
    assert headline(found) == f"2 nodes: 0 fields differ, {len(found.fields)} are the same"


def test_names_and_states_are_no_differences() -> None:
    disk = DISK.model_copy(update={"serial": "Z1", "name": "sdq", "path": "/dev/sdq", "devno": "65:0",
                                   "health": Health(source="smartctl", passed=True, celsius=50, hours=7)})  # fmt: skip
    other = DISK.model_copy(update={"health": Health(source="smartctl", passed=True, celsius=20, hours=9000)})
    busy = GOOD.load.model_copy(update={"cpu_busy": 0.9})
    fuller = GOOD.file_system.model_copy(update={"free": 5, "available": 4, "detail": {"lifetime_write_bytes": "7"}})
    plain = GOOD.file_system.model_copy(update={"detail": {"lifetime_write_bytes": "9"}})
    a = node("a", devices=(PART, disk), load=busy, file_system=fuller, taken_unix_ns=5)
    assert differing(compare_surveys([a, node("b", devices=(PART, other), file_system=plain)])) == {}


def test_what_differs_is_named_with_every_value_and_what_is_missing_apart() -> None:
    slow = GOOD.cpu.model_copy(update={"governor": "powersave", "governors": {"powersave": "0-7"}})
    old = DISK.model_copy(update={"firmware": "A1", "size": 4 << 40})
    new = DISK.model_copy(update={"firmware": "A2", "size": 4 << 40})
    card = Interface(name="ens3", kind="ethernet", rate=25 * 10**9, mtu=9000, card=True, offloads={"tso": True})
    # The driver of this host calls its card otherwise.
    other = card.model_copy(update={"name": "enp5s0", "rate": 10**10, "offloads": {"tso": False}})
    veth = Interface(name="veth12", kind="veth", mtu=1500)
    cache = Tier(kind="bcache", at="bcache0", size=100 << 30)
    found = compare_surveys([
        node("a", devices=(PART, old), interfaces=(card, veth)),
        node("b", devices=(PART, new), interfaces=(other,), cpu=slow),
        node("c", devices=(PART, new), interfaces=(card,), tiers=(cache,)),
    ])  # fmt: skip
    assert differing(found) == {
        "scsi: firmware": ("A1", "A2", "A2"),
        "CPU: power plan (governor)": ("performance", "powersave", "performance"),
        "CPU: CPUs under governor powersave": (None, "0-7", None),
        "card: rate": ("25 Gbit/s", "10 Gbit/s", "25 Gbit/s"),
        "card: offload tso": ("yes", "no", "yes"),
        "bcache: size": (None, None, "100 GiB"),
    }
    missing = {field.name for field in found.those(Agreement.MISSING)}
    assert missing == {"CPU: CPUs under governor powersave", "bcache: size"}
    assert headline(found).startswith("3 nodes: 4 fields differ, 2 are missing on some, ")


def test_the_second_disk_is_held_against_the_second_disk() -> None:
    second = DISK.model_copy(update={"name": "sdb", "scheduler": "none"})
    found = compare_surveys([node("a", devices=(DISK, second)), node("b", devices=(DISK, DISK))])
    assert differing(found) == {"scsi 2: scheduler": ("none", "mq-deadline")}
    found = compare_surveys([node("a", devices=(DISK, second)), node("b", devices=(DISK,))])
    assert {f.name for f in shown(found, Agreement.MISSING)} == {"scsi 2"}


def test_hosts_of_one_name_are_told_apart() -> None:
    found = compare_surveys([node("localhost"), node("b"), node("localhost", path="/other")])
    assert [n.name for n in found.nodes] == ["localhost #1", "b", "localhost #2"]


def test_devices_are_called_as_the_caller_wants() -> None:
    names = facts_of(GOOD, lambda device: device.name)
    assert names["sda1: partition start"] == "1 MiB" and names["sda: rotational"] == "yes"


def test_every_field_of_a_survey_that_is_no_fact_says_so_once() -> None:
    roles = {
        name: fact.role
        for name, info in Survey.model_fields.items()
        for fact in info.metadata
        if isinstance(fact, Fact) and fact.role is not FieldRole.FACT
    }
    assert (
        roles["hostname"] is FieldRole.NAME
        and roles["load"] is FieldRole.STATE
        and roles["notices"] is FieldRole.DERIVED
    )


def many() -> ComparedSurveys:
    fast = GOOD.cpu.model_copy(update={"governor": "powersave"})
    return compare_surveys([node(f"node-{n}", cpu=fast if n == 7 else GOOD.cpu) for n in range(20)])


def test_few_nodes_are_columns_and_many_are_named_behind_their_value() -> None:
    two = compare_surveys([node("a"), node("b", kernel="6.9")])
    assert "  kernel  6.1.0  6.9" in survey_compare_text(two, 80).splitlines()
    lines = survey_compare_text(many(), 80).splitlines()
    assert "    powersave: node-7" in lines
    assert any(line.startswith("    performance: node-0, node-1, ") for line in lines)
    assert "and 11 more" in " ".join(lines)
    assert max(map(len, lines)) <= 80


def test_what_a_node_lacks_as_a_whole_is_one_row() -> None:
    card = Interface(name="ens3", kind="ethernet", rate=25 * 10**9, mtu=9000, card=True)
    slow = card.model_copy(update={"rate": None})
    found = compare_surveys([node("a", interfaces=(card,)), node("b"), node("c", interfaces=(slow,))])
    assert {f.name: f.values for f in shown(found, Agreement.MISSING)} == {"card": ("there", None, "there")}
    found = compare_surveys([node("a", interfaces=(card,)), node("c", interfaces=(slow,))])
    assert [f.name for f in shown(found, Agreement.MISSING)] == ["card: rate"]


def test_markdown_has_the_differences_and_what_is_the_same_folded() -> None:
    text = survey_compare_markdown(compare_surveys([node("a|b"), node("b", kernel="6.9", os="<b>")]))
    assert "| kernel | 6.1.0 | 6.9 |" in text and "| field | a\\|b | b |" in text
    assert "<b>" not in text and "<details><summary>The same on all" in text
    assert "node-7" in survey_compare_markdown(many())


def test_of_the_nodes_of_a_diagnosis_what_is_of_the_machine_counts_and_not_who_has_the_disk() -> None:
    plain = GOOD.file_system.model_copy(update={"kind": "overlay", "size": 7 << 30})
    far = node("b", devices=(), file_system=plain)
    assert machines_compared([node("a"), far]) is None
    fewer = GOOD.cpu.model_copy(update={"usable": 1.0})
    found = machines_compared([node("a"), far.model_copy(update={"cpu": fewer, "privileged": not GOOD.privileged})])
    assert found is not None and [f.name for f in found.fields] == ["CPU: usable", "surveyed as root"]
    for width in (40, 100):
        lines = machines_lines(found, width, Paint(color=False))
        assert lines[0] == "The nodes differ in 2 fields" and all(len(line) <= width for line in lines)
        assert any("surveyed as root" in line for line in lines)
