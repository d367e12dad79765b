"""An endpoint scheme is declared once in Rust and once in Python, and the two agree."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from strata import _core, schemes
from strata.engine.job import Timing, build_job
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.workload import ClosedLoop, Rw, Workload
from strata.schemes import SCHEMES, EndpointKind

ROOT = Path(__file__).resolve().parents[2]
OURS = [scheme for scheme in SCHEMES.values() if not scheme.library]


def test_a_scheme_is_found_because_its_file_lies_there() -> None:
    files = {path.stem for path in Path(schemes.__file__).parent.glob("*.py")}
    assert files - {"__init__", "declared"} == set(SCHEMES)


def test_both_lists_have_the_same_names() -> None:
    with pytest.raises(ValueError, match="is none of") as said:
        _core.remote_probe("none://host/x", 1)
    assert set(str(said.value).partition("none of ")[2].split(", ")) == {scheme.name for scheme in OURS}


def test_every_written_form_is_on_the_guides_page() -> None:
    """`WRITTEN` is what an error tells people to write."""
    guide = (ROOT / "docs" / "guide" / "endpoints.md").read_text()
    assert [form for form in schemes.WRITTEN.values() if f"`{form}`" not in guide] == []


def test_every_kind_is_of_this_machine_or_has_a_scheme() -> None:
    assert {kind.value for kind in EndpointKind} == {"file", "block", "null", *SCHEMES}


@pytest.mark.parametrize("scheme", OURS, ids=lambda scheme: scheme.name)
def test_the_engine_takes_the_words_of_its_target(scheme: object) -> None:
    found = next(one for one in OURS if one is scheme)
    endpoint = Endpoint.parse(f"{found.name}://host.invalid/{found.figure}").with_password("p" if found.login else None)
    workload = Workload(rw=Rw.RANDREAD, bs=4096, direct=True, arrival=ClosedLoop(iodepth=1))
    segments = (Segment(start=0, length=4096, target=0),)
    job = build_job(endpoint, workload, segments, Timing(ramp_s=0, runtime_s=0))
    with pytest.raises(ValueError, match="runtime_ns: 0") as said:
        _core.start(json.dumps(job))
    assert "target" not in str(said.value)


@pytest.mark.parametrize("scheme", OURS, ids=lambda scheme: scheme.name)
def test_both_lead_to_the_same_port_where_an_address_names_none(scheme: object) -> None:
    """Rust connects there, Python watches there."""
    found = next(one for one in OURS if one is scheme)
    texts = [path.read_text() for path in (ROOT / "crates").glob(f"strata-*/src/**/{found.name}/*.rs")]
    texts += [path.read_text() for path in (ROOT / "crates").glob(f"strata-{found.name}/src/uri.rs")]
    ports = {int(n.replace("_", "")) for text in texts for n in re.findall(r"const PORT: u16 = ([\d_]+);", text)}
    assert ports == {found.port}
