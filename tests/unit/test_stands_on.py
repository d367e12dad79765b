"""What stands on what, what is compared with what, what a specification promises; files of before both keys."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from strata import units
from strata.app.sampling_scope import over_smb, sampling_scope_of
from strata.app.stacks import drop_layers
from strata.errors import UsageError
from strata.model.endpoint import Endpoint
from strata.model.expect import Expect, Faster
from strata.model.rw import Rw
from strata.model.stack import LAYERS_MOST, NAME_MOST, Layer, Stack
from strata.model.workload import ClosedLoop, Limits, OpenLoop, Workload

HEAD = '[stack]\nname = "s"\n'


def table(name: str, more: str = "", endpoint: str = "file:/x") -> str:
    return f'[[layer]]\nname = "{name}"\nendpoint = "{endpoint}"\n{more}\n'


def names(layers: tuple[Layer, ...]) -> list[str]:
    return [layer.name for layer in layers]


CLUSTER = HEAD + "".join(
    [
        table("disk"),
        table("direct", 'on = ["disk"]'),
        table("share", 'on = ["direct"]', "nbd://h/x"),
        table("redirected", 'on = ["direct"]\nagainst = ["share", "direct"]', "nbd://h/x"),
        table("top", 'on = ["redirected"]', "nbd://h/x"),
        table("alone", 'on = ["disk"]\nagainst = []'),
    ]
)


def test_two_keys_and_what_they_say() -> None:
    stack = Stack.from_toml(CLUSTER)
    assert [(a.name, b.name) for a, b in stack.pairs] == [
        ("direct", "disk"),
        ("share", "direct"),
        ("redirected", "share"),
        ("redirected", "direct"),
        ("top", "redirected"),
    ]
    assert names(stack.stands_on(stack.layer("top"))) == ["redirected", "direct", "disk"]
    assert stack.stands_on(stack.layer("disk")) == ()
    assert Stack.model_validate_json(stack.model_dump_json()) == stack
    assert "above" not in stack.model_dump_json()


def test_a_layer_is_bound_by_what_it_stands_on_and_not_by_what_it_is_compared_with() -> None:
    stack = Stack.from_toml(CLUSTER)
    of = stack.layer
    assert stack.may_be_faster(of("redirected"), of("share"))
    assert not stack.may_be_faster(of("redirected"), of("direct"))
    assert not stack.may_be_faster(of("top"), of("disk"))


REASONS = [
    ("", 'expect.faster = "cache"', ""),
    ("", "", "?connections=4"),
    ('"other", ', "", ""),
]


@pytest.mark.parametrize(("second", "said", "query"), REASONS)
def test_a_reason_on_the_way_down_lets_all_above_it_be_faster(second: str, said: str, query: str) -> None:
    stack = Stack.from_toml(
        HEAD
        + table("disk")
        + table("other")
        + table("middle", f'on = [{second}"disk"]\n{said}', f"nbd://h/x{query}")
        + table("beside", 'on = ["disk"]', "nbd://h/x")
        + table("top", 'on = ["middle"]', "nbd://h/x")
    )
    of = stack.layer
    assert stack.may_be_faster(of("middle"), of("disk"))
    assert stack.may_be_faster(of("top"), of("disk"))
    assert not stack.may_be_faster(of("beside"), of("disk"))
    assert stack.may_be_faster(of("top"), of("middle")) is False, "the reason lies below both"


OLD = {
    "name": "s",
    "layers": [
        {"name": "disk", "endpoint": "file:/x"},
        {"name": "direct", "endpoint": "file:/x", "above": ["disk"]},
        {"name": "share", "endpoint": "nbd://h/x", "above": ["direct"]},
        {"name": "redirected", "endpoint": "nbd://h/x", "above": ["share", "direct"]},
    ],
}


def test_above_is_still_read_and_means_both() -> None:
    stored = Stack.model_validate_json(json.dumps(OLD))
    assert [(layer.on, layer.against) for layer in stored.layers] == [
        ((), ()),
        (("disk",), ("disk",)),
        (("direct",), ("direct",)),
        (("direct",), ("share", "direct")),
    ]
    text = HEAD + table("disk") + table("file", 'above = ["disk"]')
    assert Stack.from_toml(text) == Stack.from_toml(text.replace("above", "on"))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ('on = ["c"]', "line 10: layer 'b' stands on 'c', which is not an earlier layer (a)"),
        ('on = ["b"]', "layer 'b' stands on 'b', which is not an earlier layer (a)"),
        ('against = ["z"]', "layer 'b' is compared with 'z', which is not an earlier layer (a)"),
        ('on = ["a", "a"]', "layer 'b' stands on 'a' twice"),
        ('above = ["z"]', "layer 'b' stands on 'z', which is not"),
        ('above = ["a"]\non = ["a"]', "[[layer]] 2, line 12: there is no key 'above'"),
        ('on = "a"', "[[layer]] 2, line 12: on:"),
        ('above = "a"', "[[layer]] 2, line 12: there is no key"),
        ('expect.faster = "luck"', "line 12: expect.faster: input should be 'cache', 'queues', 'paths' or 'members'"),
        ("expect.latency = 2.4", 'line 12: expect.latency: write it with its unit, as "2.4ms"'),
        ('expect.latency = "0ms"', "expect.latency: '0ms' is not above 0"),
        (
            'expect.bandwidth = "180Mb/s"',
            "expect.bandwidth: '180Mb/s': it is not a number of bytes per second, write 1",
        ),
        ("expect.iops = 0", "expect.iops: input should be greater than 0"),
    ],
)
def test_what_cannot_be_is_said_with_its_line(more: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        Stack.from_toml(HEAD + "\n" + table("a") + "\n" + table("b", more) + table("c"))
    assert why in refused.value.render()


def mesh(depth: int = LAYERS_MOST) -> Stack:
    """Every layer stands on all before it: there are more ways down than anybody can walk."""
    every = (f"l{n}" for n in range(depth))
    layers = (Layer(name=x, endpoint="nbd://h/x", on=tuple(f"l{m}" for m in range(n))) for n, x in enumerate(every))
    return Stack(name="mesh", layers=tuple(layers))


def test_no_way_down_is_walked_twice() -> None:
    stack = mesh()
    top, ground = stack.layers[-1], stack.layers[0]
    assert len(stack.stands_on(top)) == LAYERS_MOST - 1
    assert stack.may_be_faster(top, ground) and not stack.may_be_faster(stack.layers[1], ground)
    two = drop_layers(stack, {one.name for one in stack.layers[1:-1]})
    assert [(one.name, one.on) for one in two.layers] == [("l0", ()), (top.name, ("l0",))]
    endpoints = {one.name: one.target for one in stack.layers}
    assert not sampling_scope_of(stack, endpoints, top.name).nodes[1:]
    at_smb = {"l0": Endpoint.parse("smb://h/v/x")}
    assert [over_smb(stack, endpoints | more, top.name) for more in ({}, at_smb)] == [False, True]


def test_a_stack_has_so_many_layers_and_names_so_long() -> None:
    with pytest.raises(ValidationError, match="at most 64"):
        mesh(LAYERS_MOST + 1)
    with pytest.raises(ValidationError, match="at most 256"):
        Layer(name="x" * (NAME_MOST + 1), endpoint="null:")
    with pytest.raises(ValidationError) as refused:
        Stack(name="s", layers=tuple(Layer(name=str(n), endpoint="null:", on=("no",)) for n in range(LAYERS_MOST)))
    assert "(0, 1, 10, 11, 12, 13, 14, 15, and 55 more)" in str(refused.value)


SPEC = Expect(iops=1640, latency="2.4ms", bandwidth="180MB/s", faster=Faster.QUEUES)


def w(rw: str, bs: int, depth: int, **more: object) -> Workload:
    return Workload(rw=Rw(rw), bs=bs, arrival=ClosedLoop(iodepth=depth), **more)  # type: ignore[arg-type]


def test_each_figure_of_a_specification_is_held_against_the_cells_it_is_meant_for() -> None:
    held = Workload(rw=Rw.RANDREAD, bs=8192, arrival=ClosedLoop(iodepth=64, limits=Limits(iops=9)))
    cells = [
        w("randread", 8192, 1),
        w("randread", 8192, 8),
        w("randread", 8192, 32),
        w("randread", 131_072, 64),
        w("randwrite", 8192, 64),
        w("randread", 8192, 64, direct=False),
        held,
        Workload(rw=Rw.RANDREAD, bs=8192, arrival=OpenLoop(iops=100)),
        w("read", 8192, 8),
        w("read", 131_072, 8),
        w("write", 1_048_576, 8),
    ]
    assert [(s.word, s.workload.key, round(s.iops, 1)) for s in SPEC.stated(cells)] == [
        ("iops", "randread-8KiB-qd32", 1640.0),
        ("latency", "randread-8KiB-qd1", 416.7),
        ("bandwidth", "read-128KiB-qd8", 1373.3),
    ]
    assert SPEC.stated([w("read", 8192, 8), w("randread", 4096, 1)])[0].word == "latency"
    assert SPEC.stated([]) == Expect().stated(cells) == ()


def test_a_specification_is_saved_as_it_was_written() -> None:
    assert json.loads(SPEC.model_dump_json()) == {
        "overhead_max": None, "source": None, "faster": "queues",
        "iops": 1640.0, "latency": "2.4ms", "bandwidth": "180MB/s",
    }  # fmt: skip
    assert Expect.model_validate_json(SPEC.model_dump_json()) == SPEC
    assert set(json.loads(Expect().model_dump_json())) == {"overhead_max", "source"}
    assert (SPEC.latency_ns, SPEC.bytes_per_s) == (2_400_000, 180e6)


@pytest.mark.parametrize(("text", "rate"), [("180MB/s", 180e6), ("170 MiB/s", 170 * units.MIB), ("1.5GB/s", 1.5e9)])
def test_rates_of_specifications(text: str, rate: float) -> None:
    assert units.parse_rate(text) == rate


@pytest.mark.parametrize("text", ["180MB", "180m/s", "180Mb/s", "fast/s", "180"])
def test_a_rate_without_bytes_and_seconds_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a number of bytes per second"):
        units.parse_rate(text)
