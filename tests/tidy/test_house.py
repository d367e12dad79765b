"""Rules about the code that no other tool checks. A rule that no machine checks is a wish."""

from __future__ import annotations

import ast
import configparser
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from quick import statements

import strata

ROOT = Path(__file__).resolve().parents[2]
PRODUCT, LAB = ROOT / "src" / "strata", ROOT / "lab" / "src" / "strata_lab"
SOURCES = sorted((*PRODUCT.rglob("*.py"), *LAB.rglob("*.py")))
RUST = sorted((ROOT / "crates").rglob("*.rs"))
TRACKED = subprocess.run(
    ["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=True
).stdout.splitlines()


def room(path: Path) -> str:
    """``app/kept.py``; a file of the lab, which is a package of its own, as ``lab/up.py``."""
    return f"lab/{path.relative_to(LAB)}" if path.is_relative_to(LAB) else path.relative_to(PRODUCT).as_posix()


def test_only_engine_probes_histogram_and_one_module_of_the_lab_open_the_compiled_extension() -> None:
    opens = {room(p) for p in SOURCES if re.search(r"\b_core\b", _code(p))}
    assert {r for r in opens if not r.startswith(("engine/", "probes/"))} == {"model/histogram.py", "lab/compiled.py"}


def test_every_room_is_declared_for_the_lab_or_forbidden_to_it() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    forbidden = config["importlinter:contract:lab-sees-declared-rooms"]["forbidden_modules"].split()
    declared = ("errors", "host", "model", "parsing", "schemes", "text", "units")
    rooms = {p.stem for p in PRODUCT.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()} - {"__init__"}
    assert sorted((*forbidden, *(f"strata.{name}" for name in declared))) == sorted(f"strata.{name}" for name in rooms)


def test_the_lab_is_packed_with_all_that_it_imports_and_fits_this_strata() -> None:
    ours, lab = (tomllib.loads((ROOT / p / "pyproject.toml").read_text())["project"] for p in (".", "lab"))
    assert ours["optional-dependencies"]["lab"] == [f"strata-lab=={lab['version']}"]
    assert f"strata=={ours['version']}" in lab["dependencies"]
    assert ours["version"] == lab["version"] == strata.__version__
    imports = {i for p in LAB.rglob("*.py") for i in re.findall(r"^\s*(?:from|import) (\w+)", _code(p), re.M)}
    outside = imports - set(sys.stdlib_module_names) - {"strata", "strata_lab"}
    assert outside <= {re.split(r"\W", word)[0] for word in (*ours["dependencies"], *lab["dependencies"])}


@pytest.mark.parametrize(
    ("library", "rooms"),
    [
        ("sqlalchemy", {"store"}),
        ("alembic", {"store"}),
        ("typer", {"cli", "lab"}),
        ("jinja2", {"report", "serve"}),
        ("rich", {"report"}),
        ("starlette", {"serve"}),
        ("uvicorn", {"serve"}),
        ("scipy", {"analyse"}),
        ("pyroute2", {"lab"}),
        ("pyarrow", {"formats"}),
        ("distributed", {"fleet"}),
        ("dask", {"fleet"}),
        ("cryptography", {"fleet"}),
        # What our own readers are compared with by tests.
        ("hdrh", set()),
        ("prometheus_client", set()),
        ("junitparser", set()),
    ],
)
def test_one_outside_library_one_room(library: str, rooms: set[str]) -> None:
    users = {room(p).split("/")[0] for p in SOURCES if re.search(rf"^\s*(from|import) {library}\b", _code(p), re.M)}
    assert users <= rooms


def test_what_others_wrote_is_read_in_one_place() -> None:
    """`strata.host.untrusted` opens it and `strata.parsing` takes it in; the lab reads what it wrote itself."""
    parsers = {room(p) for p in SOURCES if re.search(r"\btomllib\b|\bzlib\.decompress|\bjson\.load\(", _code(p))}
    assert {p for p in parsers if not p.startswith("lab/")} == {"parsing/__init__.py"}
    assert not {room(p) for p in SOURCES if room(p).startswith(("store/", "formats/")) and "json.loads(" in _code(p)}
    stages = ("app/", "cli/", "formats/", "plan/", "discover/stackfile.py", "model/", "store/", "analyse/")
    reads = r"\.read_(text|bytes)\(|\bopen\(['\"]r"
    opened = {room(p) for p in SOURCES if room(p).startswith(stages) and re.search(reads, _code(p))}
    # A profile and a demo of the package; what was measured last, which is a file of ours.
    assert opened <= {"plan/profiles/__init__.py", "app/demos/__init__.py", "app/place.py"}


def test_pure_code_has_no_clock_no_io_and_no_unsafe() -> None:
    for pure in ("strata-hist/src", "strata-pace/src", "strata-pattern/src", "strata-lab/src/model"):
        for path in (ROOT / "crates" / pure).rglob("*.rs"):
            code = re.sub(r"//.*", "", path.read_text())
            assert not re.search(r"std::(fs|net|io::|time::(Instant|SystemTime))|\bunsafe\s*\{", code), path


def test_only_the_engine_reads_the_measuring_clock() -> None:
    for path in RUST:
        crate = path.relative_to(ROOT / "crates").parts[0]
        if crate in ("strata-io", "strata-hist", "strata-pace", "strata-pattern"):
            assert "Instant::now" not in path.read_text(), path


def test_text_reaches_a_terminal_through_one_door() -> None:
    """`text.output` alone shows what a terminal would obey, and says in other words what a stream cannot write."""
    writes = (
        r"(?<![\w.])print\(|std(?:out|err)\.(?:write|buffer)|\b(?:s?echo|input|rprint)\(|Console\(|os\.write\([12],"
    )
    # The live view draws with a library, which moves the cursor; all its words come through `textual.clean`.
    doors = {"text/output.py", "report/live.py"}
    assert {room(p) for p in SOURCES if re.search(writes, _code(p))} - doors == set()


def test_one_place_starts_processes_and_one_says_what_they_are() -> None:
    words = r"\bsubprocess\b|\bpty\b|sys\.executable|os\.(exec|spawn|posix_spawn|system|popen|fork)|shutil\.which"
    starts = {room(p) for p in SOURCES if re.search(words, _code(p))}
    assert starts == {"host/process.py", "host/programs.py"}


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.lock")), ids=lambda p: p.name)
def test_locks_are_hashed_and_name_no_host(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    pins = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert pins
    assert all("==" in line for line in pins)
    assert text.count("--hash=sha256:") >= len(pins)


def test_cargo_lock_names_only_the_registry() -> None:
    hosts = set(re.findall(r'"([a-z+]+://[^"]+)"', (ROOT / "Cargo.lock").read_text()))
    hosts |= set(re.findall(r'source = "([^"]+)"', (ROOT / "Cargo.lock").read_text()))
    assert len(hosts) <= 1


def test_every_hand_written_source_file_is_readable_in_one_go() -> None:
    long = {str(p.relative_to(ROOT)): n for p in [*SOURCES, *RUST] if (n := len(p.read_text().splitlines())) > 600}
    assert long == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [room(p) for p in SOURCES if not re.match(r'\s*(#!.*\n)?"""', p.read_text())]
    assert silent == []


def test_one_name_is_one_class() -> None:
    found: dict[str, list[str]] = {}
    for path in SOURCES:
        for name in re.findall(r"^class ([A-Z]\w*)", _code(path), re.M):
            found.setdefault(name, []).append(room(path))
    assert not {name: rooms for name, rooms in found.items() if len(rooms) > 1}


def test_every_command_and_option_is_in_the_guide() -> None:
    from strata.cli.main import app

    guide = (ROOT / "docs" / "guide" / "commands.md").read_text()
    group = typer.main.get_command(app)
    missing = []
    every = dict(group.commands)  # type: ignore[attr-defined]
    for name, command in list(every.items()):
        every |= {f"{name} {inner}": one for inner, one in getattr(command, "commands", {}).items()}
    for name, command in every.items():
        if f"## `strata {name}" not in guide:
            missing.append(name)
        for parameter in command.params:
            for option in parameter.opts:
                hidden = getattr(parameter, "hidden", False)
                if option.startswith("--") and not hidden and option != "--help" and f"`{option}" not in guide:
                    missing.append(f"{name} {option}")
    assert missing == []


def test_every_name_of_the_public_interface_is_on_its_page() -> None:
    """`make docs` builds the page and fails for a name that is not there any more."""
    from strata import api

    page = (ROOT / "docs" / "api.md").read_text()
    shown = set(re.findall(r"\.\. auto(?:class|function):: ([\w.]+)", page))
    assert set(api.__all__) - shown == set()
    folders = {p.parent.name for p in (ROOT / "docs").glob("*/*.md")} - {"_build"}
    index = (ROOT / "docs" / "index.md").read_text()
    assert {folder for folder in folders if f"\n{folder}/*\n" not in index} == set()


def test_the_guide_gives_every_option_the_meaning_that_its_help_has() -> None:
    """``…`` in the guide stands for a list of names that the help has whole."""
    from strata.cli.main import app

    sections = re.split(r"^## `strata ", (ROOT / "docs" / "guide" / "commands.md").read_text(), flags=re.M)[1:]
    root: Any = typer.main.get_command(app)
    different = []
    for section in sections:
        name = section.partition("`")[0]
        command = root
        for word in name.split():
            command = command.commands[word]
        named = {p.opts[0] if p.opts[0].startswith("-") else str(p.name).upper(): p.help for p in command.params}
        for option, meaning in re.findall(r"^\| `([^`]+)`[^|]* \| (.*) \|$", section, re.M):
            pattern = re.escape(meaning).replace("…", ".*")
            if not re.fullmatch(pattern, named.get(option) or ""):
                different.append(f"strata {name} {option}: {meaning!r} is not {named.get(option)!r}")
    assert different == []


def test_the_page_of_words_has_no_term_that_the_glossary_lacks() -> None:
    """Meanings are in the glossary alone; the page of words says what else a thing is not called."""
    means = {t.lower() for t in re.findall(r"\*\*([^*]+)\*\*", (ROOT / "docs" / "glossary.md").read_text())}
    page = (ROOT / "docs" / "design" / "words.md").read_text().partition("## Terms")[2].partition("\n## ")[0]
    cells = [cell for cell in re.findall(r"^\| ([^|]+) \|", page, re.M) if cell not in ("term", "---")]
    terms = [term.strip() for cell in cells for term in cell.split(" · ")]
    assert len(terms) > 30
    assert [term for term in terms if term.lower() not in means] == []


def test_every_parameter_of_the_labs_parts_is_on_their_page() -> None:
    page = (ROOT / "docs" / "design" / "lab-parts.md").read_text()
    rows, arms, pairs = r"^    ([a-z_]+): \S+ = ", r'^\s+"([a-z_]+)" => direction', r'"([a-z]+)"(?: \||\) \{)'
    for source, pattern, least in (("model/params.rs", f"{rows}|{pairs}", 40), ("hop/line.rs", arms, 5)):
        text = (ROOT / "crates" / "strata-lab" / "src" / source).read_text()
        keys = ["".join(found) for found in re.findall(pattern, text, re.M)]
        assert len(keys) >= least, source
        assert [key for key in keys if f"`{key}`" not in page] == [], source


def test_every_word_of_the_model_is_in_the_glossary() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text().lower()
    from strata.model.finding import VerdictKind
    from strata.model.verify import FaultKind

    words = [v.value for v in VerdictKind]
    words += ["stack", "layer", "node", "endpoint", "workload", "cell", "round", "run", "baseline", "finding"]
    words += [f.value for f in FaultKind] + ["torn in flight", "generation", "stamp", "stuck"]
    words += ["service_time", "response_time", "submit_latency", "noise floor", "segment", "mark"]
    assert [w for w in words if f"**{w}**" not in glossary] == []


def test_the_page_of_the_causes_is_made_from_their_docstrings() -> None:
    from strata.diagnose.page import causes_page

    written = (ROOT / "docs" / "guide" / "causes.md").read_text()
    assert written == causes_page(), "python -m strata.diagnose.page > docs/guide/causes.md"


def test_a_counters_name_is_written_once_and_taken_apart_in_one_place() -> None:
    """Everybody else asks `strata.model.counters.Readings`."""
    from strata.model.counters.catalogue import catalogue

    takes = r"\btaken_apart\b|\bstored_name\b|\.counters\.(items|keys|get)\(|\.counters\[|\w\{\{?\w+="
    names = "|".join(name for name in catalogue() if "_" in name)
    readers = ("analyse/", "app/", "diagnose/", "probes/", "report/", "run/")
    code = {room(p): re.sub(r"``.*?``", "", _code(p)) for p in SOURCES}
    assert {r for r, text in code.items() if re.search(takes, text) and not r.startswith("model/counters/")} == set()
    assert {
        r for r, text in code.items() if re.search(rf"['\"]({names})['\"{{]", text) and r.startswith(readers)
    } == set()


def test_the_page_of_the_counters_is_made_from_the_catalogue() -> None:
    from strata.model.counters.page import counters_page

    written = (ROOT / "docs" / "guide" / "counters.md").read_text()
    assert written == counters_page(), "python -m strata.model.counters.page > docs/guide/counters.md"


def test_a_page_of_a_cause_cites_only_what_everybody_can_read() -> None:
    from strata.diagnose.registry import rules

    named = {r.cause: re.findall(r"\bS[0-4]\b|\b[A-Z]{4,}S?\b's|\(rules? \d", r.page) for r in rules()}
    assert {cause: found for cause, found in named.items() if found} == {}
    assert all("Source" in r.page for r in rules())


def test_the_page_of_the_laws_is_made_from_their_docstrings() -> None:
    from strata.analyse.laws.page import laws_page

    written = (ROOT / "docs" / "guide" / "laws.md").read_text()
    assert written == laws_page(), "python -m strata.analyse.laws.page > docs/guide/laws.md"


def test_every_law_is_one_file_with_a_whole_page_and_a_check() -> None:
    from strata.analyse.laws import laws

    helpers = {"__init__", "base", "inference", "own", "page", "view"}
    files = {p.stem for p in (ROOT / "src" / "strata" / "analyse" / "laws").glob("*.py")} - helpers
    assert len(files) == len(laws()) == len({law.name for law in laws()}) == len({law.order for law in laws()})
    headings = ["What it claims", "Why it matters", "Evidence", "What rules it out", "Source"]
    for law in laws():
        assert [line for line in law.page.splitlines() if line in headings] == headings, law.name
        assert law.table is not None or law.run is not None


def test_every_kind_of_figure_is_looked_at_by_a_law_or_a_format() -> None:
    from strata.model.figures import KINDS

    text = "".join(_code(p) for p in SOURCES if "analyse/laws" in room(p))
    assert [k for k in KINDS if not re.search(rf'"{k}[".]', text)] == []


def test_nothing_refers_to_places_outside_the_repository() -> None:
    # Split, so that this file does not hold the words itself.
    words = ["/" + "work/", "../sh" + "ared", "REQUIRE" + "MENTS.md", "PEER" + "S.md", "METH" + "ODS.md"]
    text_files = [ROOT / t for t in TRACKED if Path(t).suffix in {".py", ".rs", ".md", ".toml", ".html", ".css", ""}]
    hits = [
        f"{p.relative_to(ROOT)}: {w}"
        for p in text_files
        if p.is_file()
        for w in words
        if w in p.read_text(errors="ignore")
    ]
    assert hits == []


def test_every_relative_link_leads_to_a_file() -> None:
    broken = []
    for page in (ROOT / t for t in TRACKED if t.endswith(".md")):
        text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.S)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def _code(path: Path) -> str:
    return re.sub(r'""".*?"""', "", path.read_text(), flags=re.S)


def test_the_bounds_of_the_engine_are_those_of_the_table() -> None:
    from strata.model.workload_options import in_rust

    assert (ROOT / "crates/strata-io/src/bounds.rs").read_text() == in_rust() + "\n"


def test_no_function_takes_more_than_fifteen_parameters() -> None:
    many = []
    for path in SOURCES:
        for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                asked = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                if len(asked) > 15:
                    many.append(f"{path.relative_to(ROOT)} {node.name}: {len(asked)}")
    assert many == []


def test_every_test_that_judges_what_it_measured_lies_where_it_is_looked_for() -> None:
    said = re.search(r"^JUDGING = (\(.*\))$", (ROOT / "scripts" / "house.py").read_text(), re.M)
    assert said is not None
    folders = tuple(f"{folder}/" for folder in ast.literal_eval(said[1]))
    marked = [
        name
        for name in TRACKED
        if name.startswith("tests/")
        and name.endswith(".py")
        and re.search(r"mark\.(alone|calm)\b", (ROOT / name).read_text())
    ]
    assert len(marked) > 5
    assert [name for name in marked if not re.match(rf"(?:{'|'.join(folders)}).*test_\w+\.py$", name)] == []


def test_the_guide_lists_every_format_that_is_imported() -> None:
    from strata.formats.results.page import made

    page = (ROOT / "docs" / "guide" / "import.md").read_text()
    assert page == made(page), "python -m strata.formats.results.page < docs/guide/import.md writes it anew"
