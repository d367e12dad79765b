"""What nodes counted, put together by whoever watches: parts of a series, and devices of several machines."""

from __future__ import annotations

from strata.app.driven.watching import Grown, WatchedNodes
from strata.app.sampling_scope import reached_by
from strata.app.stacks import elsewhere
from strata.discover.chain import Under
from strata.model.series import Series, SeriesKind
from strata.model.stack import Stack
from strata.model.watch import LayerDevices

TEXT = """
[stack]
name = "two machines"

[[node]]
name = "n1"

[[node]]
name = "n2"

[[layer]]
name = "disk"
node = "n1"
endpoint = "block:/dev/sda"

[[layer]]
name = "file"
node = "n1"
on = ["disk"]
endpoint = "file:/srv/a.dat"

[[layer]]
name = "share"
node = "n2"
on = ["file"]
endpoint = "nbd://storage-1:10809/a"
"""


def part(*samples: tuple[int, float], kind: SeriesKind = SeriesKind.COUNTER) -> Series:
    return Series(
        metric="m", unit="1", kind=kind, t_ns=tuple(t for t, _ in samples), values=tuple(v for _, v in samples)
    )


def grown(*parts: tuple[Series, int]) -> Grown:
    made = Grown(parts[0][0], 0)
    for one, by_ns in parts:
        made.grow(one, by_ns)
    return made


def told(made: Grown) -> list[tuple[int, float]]:
    one = made.taken()
    assert one is not None
    return list(zip(one.t_ns, one.values, strict=True))


def test_parts_are_one_series_on_our_clock() -> None:
    made = grown((part((10, 1.0), (20, 2.0)), 1000), (part((20, 2.0), (30, 5.0)), 1001))
    assert told(made) == [(1010, 1.0), (1020, 2.0), (1031, 5.0)]
    # What was taken is gone, but for the sample from which it goes on.
    made.grow(part((30, 5.0), (40, 6.0)), 1002)
    assert told(made) == [(1031, 5.0), (1042, 6.0)]
    assert told(made) == [(1042, 6.0)]


def test_a_counter_that_wrapped_in_one_part_goes_on_in_the_next_and_a_gauge_says_what_it_says() -> None:
    # The kernel's own fell from 30 to 4, which was told as 36: 32 were added within the part alone.
    made = grown((part((10, 30.0), (20, 36.0)), 0), (part((20, 4.0), (30, 9.0)), 0))
    assert told(made) == [(10, 30.0), (20, 36.0), (30, 41.0)]
    gauge = grown(
        (part((10, 30.0), (20, 4.0), kind=SeriesKind.GAUGE), 0), (part((20, 4.0), (30, 9.0), kind=SeriesKind.GAUGE), 0)
    )
    assert told(gauge) == [(10, 30.0), (20, 4.0), (30, 9.0)]


def test_a_part_after_a_gap_is_taken_as_it_is() -> None:
    assert told(grown((part((10, 30.0)), 0), (part((50, 2.0), (60, 3.0)), 0))) == [(10, 30.0), (50, 2.0), (60, 3.0)]


def test_an_empty_part_changes_nothing() -> None:
    # First, in the middle and last: what came before goes on after it.
    empty, one = part(), part((10, 1.0), (20, 2.0))
    made = grown((empty, 0), (one, 1000), (empty, 1005), (part((20, 2.0), (30, 5.0)), 1001), (empty, 0))
    assert told(made) == [(1010, 1.0), (1020, 2.0), (1031, 5.0)]
    assert grown((empty, 0)).taken() is None


def test_a_layer_without_devices_of_its_own_reaches_those_of_the_machine_below() -> None:
    stack = Stack.from_toml(TEXT)
    disk = Under(devices=("sda",), carriers=("sda",))
    own = {"disk": ("n1", disk), "file": ("n1", disk), "share": ("n2", Under(devices=(), carriers=()))}
    there = {"devices": ("sda",), "carriers": ("sda",), "node": "n1"}
    assert reached_by(stack, own) == tuple(LayerDevices(layer=name, **there) for name in ("disk", "file", "share"))
    # Two paths that end on two machines: each layer has its own.
    both = stack.layers[-1].model_copy(update={"on": ("disk", "file")})
    stack = stack.model_copy(update={"layers": (*stack.layers[:-1], both)})
    other = Under(devices=("sdb",), carriers=("sdb",))
    found = reached_by(stack, {"disk": (None, disk), "file": ("n1", other)})
    assert [(r.devices, r.node) for r in found] == [(("sda",), None), (("sdb",), "n1"), (("sda",), None)]


def test_what_nodes_see_at_both_ends_is_no_machine_that_is_hidden() -> None:
    stack = Stack.from_toml(TEXT)
    assert len(elsewhere(stack)) == 1
    assert elsewhere(stack, {"disk", "file", "share"}) == ()
    # The client's own end alone does not show what is behind the wire.
    assert len(elsewhere(stack, {"share"})) == 1


def test_what_has_gone_is_forgotten_and_what_only_stood_still_goes_on() -> None:
    """Connections come and go for as long as a watching lasts."""
    nodes = WatchedNodes.__new__(WatchedNodes)
    nodes._series = {}
    for number in range(300):
        mine = part((10 + 10 * number, 1.0), (20 + 10 * number, 2.0))
        nodes._series[str(number), ()] = grown((mine, 0))
        handed, _ = nodes._handed(())
        assert [one.values for one in handed] == [(1.0, 2.0)]
    assert len(nodes._series) == 1
    nodes._handed(())
    assert nodes._series == {}
    # Its next part begins with the sample before, so that nothing of its growth is lost.
    again = grown((part((3010, 2.0), (3020, 7.0)), 0))
    assert told(again) == [(3010, 2.0), (3020, 7.0)]
