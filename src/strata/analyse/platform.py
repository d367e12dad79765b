"""The fields of a survey in words, and two or more surveys compared.

What a field is called, what its number is of and what its difference means is declared beside it (`strata.model.fact`).
Devices are told apart by their kind and their place among those of that kind, not by their names: the second disk of
one node is compared with the second disk of another, whatever their drivers call them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from strata import units
from strata.model.base import Value
from strata.model.fact import Fact, FieldRole, Unit
from strata.model.hardware import DevicePath, Interface, Tier
from strata.model.survey import Device, Survey
from strata.model.survey_compared import Agreement, ComparedSurveys, SurveyedNode, SurveyField

Named = Callable[[Device], str]
_PLAIN = Fact()


def compare_surveys(surveys: Sequence[Survey]) -> ComparedSurveys:
    """Every field that should be the same on nodes that are alike; what is a name or changes by itself is left out."""
    each = [facts_of(survey) for survey in surveys]
    fields = []
    for name in dict.fromkeys(name for found in each for name in found):
        values = tuple(found.get(name) for found in each)
        known = {value for value in values if value is not None}
        agreement = Agreement.DIFFERS if len(known) > 1 else Agreement.MISSING if None in values else Agreement.SAME
        fields.append(SurveyField(name=name, values=values, agreement=agreement))
    return ComparedSurveys(nodes=tuple(_nodes(surveys)), fields=tuple(fields))


def machines_compared(surveys: Sequence[Survey]) -> ComparedSurveys | None:
    """In what the nodes of a stack differ as machines: kernel, CPUs, memory, cards, limits, rights. None where they do
    not. What lies below the path of each is its own: only one of them has the disk."""
    compared = compare_surveys([s.model_copy(update={"devices": (), "tiers": (), "file": None}) for s in surveys])
    ours = Survey.model_fields["file_system"]
    of = next((one.label for one in ours.metadata if isinstance(one, Fact) and one.label), "file system")
    fields = tuple(f for f in compared.those(Agreement.DIFFERS) if not f.name.startswith(f"{of}: "))
    return compared.model_copy(update={"fields": fields}) if fields else None


def facts_of(survey: Survey, named: Named | None = None) -> dict[str, str]:
    """The facts that are known, by their names in words. ``named``: what a device is called; its kind otherwise."""
    return dict(_facts(survey, "", named))


def _nodes(surveys: Sequence[Survey]) -> Iterator[SurveyedNode]:
    several = Counter(survey.hostname for survey in surveys)
    seen: Counter[str] = Counter()
    for survey in surveys:
        seen[survey.hostname] += 1
        number = f" #{seen[survey.hostname]}" if several[survey.hostname] > 1 else ""
        yield SurveyedNode(
            name=f"{survey.hostname}{number}", path=survey.path, taken_unix_ns=survey.taken_unix_ns,
            devices=tuple(device.name for device in survey.devices),
        )  # fmt: skip


def _facts(value: Value, prefix: str, named: Named | None) -> Iterator[tuple[str, str]]:
    for name, info in type(value).model_fields.items():
        fact = next((one for one in info.metadata if isinstance(one, Fact)), _PLAIN)
        found = getattr(value, name)
        if fact.role is not FieldRole.FACT or found in (None, "", ()):
            continue
        label = fact.label or name.replace("_", " ")
        if isinstance(found, Value):
            yield from _facts(found, prefix if fact.inline else f"{prefix}{label}: ", named)
        elif isinstance(found, dict):
            head = prefix if fact.inline else f"{prefix}{label} "
            yield from (
                (f"{head}{key.replace('_', ' ')}", _words(one, _PLAIN))
                for key, one in found.items()
                if key not in fact.states
            )
        elif isinstance(found, tuple) and isinstance(found[0], Value):
            for heading, one in _told_apart(found, named):
                yield from _facts(one, f"{prefix}{heading}: ", named)
        else:
            yield f"{prefix}{label}", _words(found, fact)


def _told_apart(several: Sequence[Value], named: Named | None) -> Iterator[tuple[str, Value]]:
    """Each with its heading, from the second of a kind on with its number; of interfaces the cards and what is made of
    them, as every host has its own others."""
    kept = [one for one in several if not isinstance(one, Interface) or one.card or one.members]
    headings = [_heading(one, named) for one in kept]
    seen = Counter[str]()
    for heading, one in zip(headings, kept, strict=True):
        seen[heading] += 1
        yield f"{heading} {seen[heading]}" if seen[heading] > 1 else heading, one


def _heading(one: Value, named: Named | None) -> str:
    if isinstance(one, Device):
        return one.kind if named is None else named(one)
    if isinstance(one, Interface):
        return "card" if one.card else one.kind
    if isinstance(one, Tier):
        return one.kind
    return "path" if isinstance(one, DevicePath) else type(one).__name__


def _words(value: object, fact: Fact) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, (int, float)):
        if fact.unit is Unit.BYTES:
            return units.size(value)
        if fact.unit is Unit.BITS:
            return units.bit_rate(value)
        if fact.unit is Unit.SHARE:
            return units.percent(value)
        return (
            f"{value:g} °C" if fact.unit is Unit.CELSIUS else f"{value:g}" if isinstance(value, float) else str(value)
        )
    return str(value)
