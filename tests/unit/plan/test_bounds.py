"""A bound is declared once: just within it every entrance takes a value, just beyond it every entrance refuses it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from invoked import said

import strata
from strata import _core
from strata.app.options import Options
from strata.app.profiles import jobs_of
from strata.app.stacks import read_stack
from strata.app.verify import VerifyOptions, verify_endpoint
from strata.engine.job import Timing, build_job
from strata.errors import StrataError, UsageError
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.workload_options import BUFFERS_MOST, CONNECTIONS_MOST, OPTIONS, TIME_MOST_NS
from strata.plan.profiles import profile_of
from strata.plan.words import workload_from_words

STEPS = {"bs": 512, "thinktime": 1000}
BOUNDED = [name for name, row in OPTIONS.items() if row.high is not None and name not in ("seed", "gap", "clients")]
WITH = {"burst": {"rate_iops": 1000}, "thinktime_blocks": {"thinktime": 1000}, "fsync": {"fsync": 1}}
JOB = build_job(
    Endpoint.parse("null:"),
    workload_from_words("randrw", "4k"),
    (Segment(start=0, length=1 << 30, target=0),),
    Timing(ramp_s=0, runtime_s=1),
)
PLACES = {
    "bs": ("bs",),
    "rate_iops": ("rate_iops", "iops"),
    "thinktime": ("limits", "think_ns"),
    "thinktime_blocks": ("limits", "think_every"),
    "burst": ("rate_iops", "burst"),
    "blockalign": ("align",),
    "compress_percent": ("data", "compress_percent"),
    "dedupe_percent": ("data", "dedupe_percent"),
}
"""Where the engine's job has an option, if not under its name."""


def beyond(name: str) -> float:
    return OPTIONS[name].high + STEPS.get(name, 1)  # type: ignore[operator]


def words(name: str, value: float) -> dict[str, Any]:
    row = OPTIONS[name]
    given = f"{round(value)}ns" if row.kind.value == "time" else value if row.kind.value == "number" else round(value)
    return {"rw": "randrw", "bs": "4k", **WITH.get(name, {}), name: given}


def typed(name: str, value: float) -> str:
    given = words(name, value)
    spelled = [w for key, text in given.items() for w in (OPTIONS[key].spellings[0], str(text))]
    code, text = said("emit", "shell", "file:/data/x", "--runtime", "1s", "--rounds", "1", *spelled)
    return text if code and "is not in" in text else ""


def in_a_profile(name: str, value: float) -> str:
    lines = "\n".join(f"{key} = {json.dumps(text)}" for key, text in words(name, value).items())
    return refusal(lambda: profile_of(f'title = "t"\nsource = "s"\n[[workload]]\nname = "w"\n{lines}\n', "ours", "p"))


def in_a_fio_job(name: str, value: float) -> str:
    word = OPTIONS[name].fio or {"bs": "bs", "blockalign": "blockalign"}.get(name)
    assert word is not None
    more = "thinktime=1\n" if name == "thinktime_blocks" else ""
    text = f"[a]\nioengine=libaio\nrw=randrw\n{more}{word}={round(value)}\n"
    return refusal(lambda: jobs_of(text, "a.fio"))


def asked_of_the_interface(name: str, value: float) -> str:
    return refusal(lambda: strata.measure("file:/nowhere/x", words(name, value), size=1 << 30, runtime_s=0.01))


def in_the_engines_job(name: str, value: float) -> str:
    """With a second mistake, so that nothing is run: only what it says of this one is asked."""
    job = json.loads(json.dumps(JOB)) | {"schema": 2}
    at = job["workload"]
    *above, last = PLACES.get(name, (name,))
    for part in above:
        whole = {"rate_iops": {"iops": 1.0, "process": "constant"}, "limits": {"think_ns": 1}, "data": {}}[part]
        at[part] = at.get(part) or whole
        at = at[part]
    at[last] = value if name == "rate_iops" else round(value)
    with pytest.raises(ValueError) as refused:
        _core.start(json.dumps(job))
    problems = str(refused.value).splitlines()
    return "; ".join(p for p in problems if any(word in p for word in (last, "u32", "u8")) and "schema" not in p)


def refusal(do: Callable[[], object]) -> str:
    try:
        do()
    except UsageError as e:
        return e.render()
    except StrataError:
        return ""  # It got as far as the endpoint.
    return ""


NOT_THERE: dict[Callable[[str, float], str], set[str]] = {
    # fio's jobs say it otherwise.
    in_a_fio_job: {name for name in BOUNDED if not OPTIONS[name].fio and name != "bs"},
    # A run that thinks for a year.
    asked_of_the_interface: {"thinktime"},
    # No bound of its own, or another value's.
    in_the_engines_job: {"limit_iops", "misalign", "blockalign"},
}
ENTRANCES = [typed, in_a_profile, in_a_fio_job, asked_of_the_interface, in_the_engines_job]
CASES = [(entrance, name) for entrance in ENTRANCES for name in BOUNDED if name not in NOT_THERE.get(entrance, ())]


@pytest.mark.parametrize(("entrance", "name"), CASES, ids=lambda one: getattr(one, "__name__", one))
def test_every_entrance_has_the_bound_of_the_table(entrance: Callable[[str, float], str], name: str) -> None:
    high = OPTIONS[name].high
    assert high is not None
    assert entrance(name, beyond(name)), "taken beyond the bound"
    if name not in ("blockalign", "misalign"):  # Which go with the block size.
        assert entrance(name, high) == ""


VERIFIED = [(name, n) for name in ("bs", "iodepth", "threads") for n in (OPTIONS[name].low - 1, beyond(name))]  # type: ignore[operator]


@pytest.mark.parametrize(("name", "value"), VERIFIED)
def test_a_verification_has_the_same(tmp_path: Path, name: str, value: int) -> None:
    with pytest.raises(UsageError, match=rf"{name}={value} is not in"):
        verify_endpoint(f"file:{tmp_path}/x", VerifyOptions().model_copy(update={name: value}), lambda _: None)
    assert list(tmp_path.iterdir()) == []
    job = {
        "schema": 1, "target": {"kind": "file", "path": "/nowhere", "direct": True, "dsync": False},
        "endpoint": "file:/nowhere", "first_byte": 0, "blocks": 1 << 20, "bs": 4096,
        "sector": 512, "run": 1, "mode": "run", "order": "random", "passes": 1, "write_percent": 100, "iodepth": 1,
        "threads": 1, "runtime_ns": None, "flush_every": 0, "journal": None, "loss": "process", "list": 1, "seed": 1,
        "engine": "auto", "atomic": False, "stuck_after_ns": 1_000_000_000, "mark": None,
    }  # fmt: skip
    with pytest.raises(ValueError, match=name):
        _core.verify(json.dumps(job | {name: value}))


ADDRESSES = [
    "nbd://h/e?", "nbd+unix:///e?socket=/s&", "nfs://h/e/f?", "iscsi://h/t/0?", "smb://u@h/s/f?", "s3://h/b/k?"
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_so_many_connections_and_no_more_lead_to_an_endpoint(tmp_path: Path, address: str) -> None:
    assert Endpoint.parse(f"{address}connections={CONNECTIONS_MOST}").connections == CONNECTIONS_MOST
    for wrong in ("0", str(CONNECTIONS_MOST + 1), "9" * 5000, "²", "-1", ""):
        with pytest.raises(UsageError, match=rf"is not in 1\.\.{CONNECTIONS_MOST}"):
            Endpoint.parse(f"{address}connections={wrong}")
    file = tmp_path / "s.toml"
    layer = '[[layer]]\nname = "{}"\nendpoint = "{}"\n'
    stack = '[stack]\nname = "s"\n' + layer.format("a", "file:/a") + layer.format("b", "{}connections={}")
    file.write_text(stack.format(address, CONNECTIONS_MOST + 1))
    with pytest.raises(UsageError) as refused:
        read_stack(file)
    assert f"is not in 1..{CONNECTIONS_MOST}" in refused.value.render()
    file.write_text(stack.format(address, CONNECTIONS_MOST))
    assert read_stack(file).layers[1].target.connections == CONNECTIONS_MOST
    uri = f"{address}connections={CONNECTIONS_MOST + 1}"
    with pytest.raises((ValueError, OSError), match=f"1 to {CONNECTIONS_MOST}"):
        _core.remote_probe(uri, 1)


def test_buffers_of_all_threads_have_a_bound() -> None:
    job = json.loads(json.dumps(JOB))
    job["workload"] |= {"bs": OPTIONS["bs"].high, "iodepth": OPTIONS["iodepth"].high}
    with pytest.raises(ValueError, match=f"above {BUFFERS_MOST >> 30} GiB"):
        _core.start(json.dumps(job))


@pytest.mark.parametrize("name", ["ramp_s", "runtime_s", "interval_s"])
def test_a_time_ends_within_a_year(name: str) -> None:
    year = TIME_MOST_NS / 1e9
    assert getattr(Options(**{name: year}), name) == year
    with pytest.raises(ValueError, match=name):
        Options(**{name: year + 1})
    with pytest.raises(ValueError, match=f"{name.removesuffix('_s')}_ns"):
        _core.start(json.dumps(JOB | {f"{name.removesuffix('_s')}_ns": TIME_MOST_NS + 1}))
