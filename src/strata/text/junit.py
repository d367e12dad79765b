"""JUnit XML, which continuous integration and other readers of test reports understand: written here alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from xml.etree import ElementTree

from strata.text.controls import escaped, line, lines

_NEVER = re.compile("[\ufffe\uffff]")


class CaseEnding(StrEnum):
    """How a case ended; the elements of JUnit are called so."""

    PASSED = "passed"
    FAILED = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class JunitCase:
    """One test case. ``message`` says why it did not pass, ``kind`` in a word; ``text`` has more, also of a pass."""

    group: str
    name: str
    ending: CaseEnding = CaseEnding.PASSED
    message: str = ""
    kind: str = ""
    text: str = ""


@dataclass(frozen=True)
class JunitSuite:
    """Cases under one heading."""

    name: str
    cases: tuple[JunitCase, ...]


def document(name: str, suites: Iterable[JunitSuite]) -> str:
    """The whole document, its counts added up."""
    every = tuple(suites)
    root = ElementTree.Element("testsuites", {"name": name, **_counts([c for suite in every for c in suite.cases])})
    for suite in every:
        inner = ElementTree.SubElement(root, "testsuite", {"name": suite.name, **_counts(suite.cases)})
        for case in suite.cases:
            _write(inner, case)
    for element in root.iter():
        element.text = _clean(element.text, lines) if element.text else None
        element.attrib.update({key: _clean(said, line) for key, said in element.items()})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def _clean(text: str, shown: Callable[[str], str]) -> str:
    """XML has no place for most control characters, nor for two others, not even escaped."""
    return _NEVER.sub(lambda found: escaped(found[0]), shown(text))


def _counts(cases: Iterable[JunitCase]) -> dict[str, str]:
    ended = [case.ending for case in cases]
    counted = {"failures": CaseEnding.FAILED, "errors": CaseEnding.ERROR, "skipped": CaseEnding.SKIPPED}
    return {"tests": str(len(ended))} | {key: str(ended.count(ending)) for key, ending in counted.items()}


def _write(suite: ElementTree.Element, case: JunitCase) -> None:
    made = ElementTree.SubElement(suite, "testcase", {"classname": case.group, "name": case.name, "time": "0"})
    if case.ending is not CaseEnding.PASSED:
        said = {"message": case.message} | ({"type": case.kind} if case.kind else {})
        ElementTree.SubElement(made, case.ending.value, said).text = case.text
    elif case.text:
        ElementTree.SubElement(made, "system-out").text = case.text
