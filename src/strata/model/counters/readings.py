"""The one question about the counters of a cell: what does this counter say, of which things.

``of``       every series of it                ``cell.readings.of(blockdev.READ_BYTES)``
``value``    of the one series that is meant   ``cell.readings.value(blockdev.READ_BYTES, device="sda", node=None)``
``total``    one value, as the counter says    ``cell.readings.total(qdisc.DROPS, node="n1")``
``each``     the same for each of some labels  ``cell.readings.each(net.BYTES, "node", "interface")``
``largest``  the series with most of it        ``cell.readings.largest(servers.CPU_SECONDS)``

The only place that writes the name of a series as a cell's counters have it, ``cpu_seconds{cpu=all,mode=user}``, or
takes one apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from urllib.parse import unquote

from strata.model.counters.counter import LABELS, NODE, Counter, Over
from strata.model.groups import grouped
from strata.model.series import Series

Key = tuple[str | None, ...]
"""The values of some labels, in the order they were asked for; None: it has no such label (of a node: this machine)."""


def stored_name(metric: str, labels: Mapping[str, str]) -> str:
    """What would end a label stands as its percent code."""
    return _written(metric, tuple(labels.items()))


@lru_cache(maxsize=1 << 14)
def _written(metric: str, labels: tuple[tuple[str, str], ...]) -> str:
    """Asked for every series of every measurement, and the same ones come again."""
    parts = ",".join(f"{k}={_quoted(v)}" for k, v in sorted(labels))
    return f"{metric}{{{parts}}}" if parts else metric


@lru_cache(maxsize=1 << 14)
def taken_apart(name: str) -> tuple[str, Mapping[str, str]]:
    """Metric and labels back from `stored_name`."""
    metric, _, rest = name.removesuffix("}").partition("{")
    pairs = (part.split("=", 1) for part in rest.split(",") if "=" in part)
    return metric, MappingProxyType({key: unquote(value) for key, value in pairs})


def _quoted(value: str) -> str:
    return value.replace("%", "%25").replace(",", "%2C").replace("}", "%7D")


@dataclass(frozen=True)
class Reading:
    """What one series of a counter says: a rate per second, or the mean of a gauge.

    ``labels`` has every label that the counter says each series has, and those of `Counter.also` that it has.
    """

    counter: Counter
    node: str | None
    labels: Mapping[str, str]
    value: float

    def __getitem__(self, label: str) -> str:
        return self.labels[label]

    def get(self, label: str) -> str | None:
        """The value of a label, the node's name among them; None where it has none."""
        return self.node if label == NODE else self.labels.get(label)

    def key(self, *labels: str) -> Key:
        """The values of these labels."""
        return tuple(map(self.get, labels))


@dataclass(frozen=True)
class Readings:
    """The counters of one cell as they are kept. What was not read is absent from every answer, never 0.

    ``where`` of every question: the value of a label; ``node=None`` is this machine, no ``node`` is every node.
    """

    stored: Mapping[str, float]

    @classmethod
    def now(cls, found: Iterable[tuple[str, str | None, Mapping[str, str], float]]) -> Readings:
        """From (metric, node, labels, value), as a sampler has them."""
        return cls(
            {
                stored_name(metric, labels if node is None else {**labels, NODE: node}): value
                for metric, node, labels, value in found
            }
        )

    def every(self) -> Iterator[tuple[str, Mapping[str, str], float]]:
        """(name, labels, value) of all that was read, known here or not."""
        return ((name, labels, value) for name, some in self._by_metric.items() for labels, value in some)

    def of(self, counter: Counter, **where: str | None) -> tuple[Reading, ...]:
        """Every series of the counter. A sum kept beside its things is not among them, unless it is asked for."""
        found = self._found(counter, where)
        if counter.whole is not None and counter.whole[0] not in where:
            found = [r for r in found if not _is_whole(r)]
        return tuple(found)

    def value(self, counter: Counter, **where: str | None) -> float | None:
        """Of the one series that is meant; None where it was not read. Raises `ValueError` where several may be."""
        if loose := [label for label in (NODE, *counter.labels) if label not in where]:
            raise ValueError(f"{counter.name} is not one series without {', '.join(loose)}")
        found = self._found(counter, where)
        return found[0].value if found else None

    def total(self, counter: Counter, **where: str | None) -> float | None:
        """One value of all, as the counter says: added up, the largest, or the mean. None where nothing was read."""
        told = self._added_up(counter, where, ())
        return told.get(())

    def each(self, counter: Counter, *labels: str, **where: str | None) -> dict[Key, float]:
        """`total` for each combination of these labels, in the order in which they are kept."""
        return self._added_up(counter, where, labels)

    def largest(self, counter: Counter, **where: str | None) -> Reading | None:
        """The series with the greatest value, of one thing."""
        return max(self.of(counter, **where), key=lambda r: r.value, default=None)

    @cached_property
    def _by_metric(self) -> dict[str, list[tuple[Mapping[str, str], float]]]:
        """Labels and value of every series; many questions are asked of one cell."""
        taken = ((*taken_apart(name), value) for name, value in self.stored.items())
        return grouped((metric, (labels, value)) for metric, labels, value in taken)

    @cached_property
    def _asked(self) -> dict[Counter, list[Reading]]:
        """Every series of the counters that were asked for so far."""
        return {}

    def _found(self, counter: Counter, where: Mapping[str, str | None]) -> list[Reading]:
        if where.keys() - counter.known:
            strange = [label for label in where if label not in counter.known]
            raise ValueError(f"{counter.name} has no label {', '.join(strange)}")
        asked = self._asked.get(counter)
        if asked is None:
            told = self._by_metric.get(counter.name, ())
            fit = set(counter.labels)
            asked = self._asked[counter] = [
                Reading(counter, labels.get(NODE), labels, value)
                for labels, value in told
                if fit <= labels.keys() <= counter.known
            ]
        # One label after the other: most questions have one or two, and many things are asked of few.
        for label, value in where.items():
            asked = [r for r in asked if r.get(label) == value]
        return asked

    def _added_up(self, counter: Counter, where: Mapping[str, str | None], labels: tuple[str, ...]) -> dict[Key, float]:
        loose = [label for label in counter.aspects if label not in where and label not in labels]
        if counter.over is Over.NONE or loose:
            raise ValueError(f"{counter.name} cannot be added up over {', '.join(loose) or 'several things'}")
        found = _without_parts_of_a_whole(counter, self._found(counter, where), labels)
        if counter.nested is not None:
            found = _outermost(counter, found)
        groups = grouped((reading.key(*labels), reading.value) for reading in found)
        return {key: _HOW[counter.over](values) for key, values in groups.items()}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


_HOW: Mapping[Over, Callable[[list[float]], float]] = {Over.SUM: sum, Over.MAX: max, Over.MEAN: _mean}


def _is_whole(reading: Reading) -> bool:
    whole = reading.counter.whole
    return whole is not None and reading.get(whole[0]) == whole[1]


def _without_parts_of_a_whole(counter: Counter, found: list[Reading], labels: tuple[str, ...]) -> list[Reading]:
    """Each thing once: by itself where things are asked for, else in its node's sum where there is one."""
    if counter.whole is None:
        return found
    if counter.whole[0] in labels:
        return [r for r in found if not _is_whole(r)]
    summed = {r.node for r in found if _is_whole(r)}
    return [r for r in found if _is_whole(r) or r.node not in summed]


def _outermost(counter: Counter, found: list[Reading]) -> list[Reading]:
    assert counter.nested is not None
    others = set(LABELS[counter.scope]) - {counter.nested}
    same = [NODE, *(label for label in counter.labels if label not in others)]
    best: dict[Key, Reading] = {}
    for reading in found:
        key = reading.key(*same)
        if key not in best or reading.value > best[key].value:
            best[key] = reading
    return list(best.values())


def name_of(series: Series) -> str:
    """The name under which what a series says is kept."""
    return stored_name(series.metric, series.labels)
