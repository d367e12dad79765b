"""What is written as JUnit XML is read by another program as it was meant, whatever names and reasons hold."""

from __future__ import annotations

import junitparser
from hypothesis import given
from hypothesis import strategies as st

from strata.text import controls
from strata.text.junit import CaseEnding, JunitCase, JunitSuite, document

TEXT = st.text(st.characters(), max_size=20)
CASES = st.builds(JunitCase, TEXT, TEXT, st.sampled_from(CaseEnding), TEXT, TEXT, TEXT)


@given(st.lists(st.builds(JunitSuite, TEXT, st.lists(CASES, max_size=4).map(tuple)), max_size=3))
def test_another_program_reads_every_case_and_counts_them_alike(suites: list[JunitSuite]) -> None:
    text = document("strata", suites)
    assert controls.lines(text) == text
    read = list(junitparser.JUnitXml.fromstring(text))
    assert len(read) == len(suites)
    for found, meant in zip(read, suites, strict=True):
        cases = list(found)
        assert len(cases) == len(meant.cases) == found.tests
        for case, one in zip(cases, meant.cases, strict=True):
            ended = [r.__class__.__name__ for r in case.result]
            names = {"failure": ["Failure"], "error": ["Error"], "skipped": ["Skipped"], "passed": []}
            assert ended == names[one.ending.value]
            if one.name.isascii() and one.name.isprintable():
                assert case.name == one.name
        endings = [one.ending for one in meant.cases]
        counted = (found.failures, found.errors, found.skipped)
        assert counted == tuple(endings.count(CaseEnding(word)) for word in ("failure", "error", "skipped"))
