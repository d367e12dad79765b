"""``strata serve`` as a client meets it: whom it answers, what it shows, and that it changes nothing unless it may."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from html import escape
from pathlib import Path

import promtool
import pytest
import serving
from commands import strata
from serving import (
    FIRST,
    NASTY,
    SECOND,
    STOPPED,
    WATCHED,
    Served,
    fill,
    keep_slices,
    measured_kinds,
    measuring,
    report,
    served,
    until,
)

from strata.app.kept import load_report
from strata.report.html import page
from strata.serve import remembered
from strata.store import open_store

PAGES = (
    "/runs", f"/runs/{FIRST}", f"/runs/{FIRST}/edit", "/history", "/history?cell=disk/*", "/baselines",
    f"/compare?run={FIRST}&run={SECOND}", "/metrics",
)  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    state = tmp_path_factory.mktemp("served")
    fill(state)
    with served(state) as one:
        yield one


@pytest.mark.parametrize("words", ["something else\n", ""], ids=["other", "nothing"])
def test_what_a_server_says_instead_of_its_address_is_shown_within_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setattr(serving, "ANSWERS_WITHIN_S", 2.0)
    silent = f"import sys, time; sys.stderr.write({words!r}); sys.stderr.flush(); time.sleep(60)"
    with (
        pytest.raises(AssertionError, match=f"did not begin with its address.*{re.escape(repr(words))}$"),
        served(tmp_path, start=("-c", silent)),
    ):
        pytest.fail("a server without an address was served")


IMPATIENT = """
from strata.serve import patience
patience.IDLE_S = patience.UNREAD_S = {seconds}
from strata.cli import main
main()
"""


def test_who_asks_nothing_takes_nobodys_place(server: Served) -> None:
    with ExitStack() as held:
        silent = [held.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(150)]
        half = held.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        half.sendall(b"GET /runs HTTP/1.1\r\nHost: ")
        for _ in range(3):
            assert server.ask("/runs").status == 200
        silent[0].settimeout(20)
        assert silent[0].recv(1) == b"", "the one that asked nothing for longest was let go of"


def test_who_asks_nothing_or_takes_no_answer_is_let_go_of(tmp_path: Path) -> None:
    """Nobody needs a token to connect."""
    fill(tmp_path)
    with served(tmp_path, start=("-c", IMPATIENT.format(seconds=0.5))) as one, ExitStack() as held:
        silent, half, deaf = (held.enter_context(socket.create_connection(("127.0.0.1", one.port))) for _ in range(3))
        half.sendall(b"GET /runs HTTP/1.1\r\nHost: ")
        for idle in (silent, half):
            idle.settimeout(20)
            assert idle.recv(1) == b""
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        asks = f"GET /runs HTTP/1.1\r\nHost: 127.0.0.1:{one.port}\r\nAccept: text/html\r\n\r\n".encode()
        deaf.settimeout(20)
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            while True:
                deaf.sendall(asks)


def store_of(server: Served) -> str:
    return str(server.state / "strata.db")


def twin(path: str) -> str:
    before, mark, asked = path.partition("?")
    return f"{before}.json{mark}{asked}"


@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_said_to_who_has_no_token(server: Served, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer x"}, {"Cookie": f"strata-{server.port}=x"}, {"Authorization": ""}):
        answer = server.ask(path, **({"Authorization": None} | headers))
        assert answer.status == 401 and "disk" not in answer.body and FIRST not in answer.body


def test_the_token_in_the_address_becomes_a_cookie_and_leaves_the_address(server: Served) -> None:
    answer = server.ask(f"/runs?name=x&token={server.token}", Authorization=None)
    assert answer.status == 303 and answer.headers["location"] == "/runs?name=x"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert server.ask("/runs", Authorization=None, Cookie=cookie.split(";")[0]).status == 200
    assert server.ask("/runs?token=wrong", Authorization=None).status == 401
    elsewhere = server.ask(f"//evil.example/x?token={server.token}", Authorization=None)
    assert elsewhere.headers["location"] == "/evil.example/x"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "127.0.0.1:1"])
def test_a_name_that_is_not_its_own_gets_nothing_even_with_the_token(server: Served, host: str) -> None:
    """DNS rebinding: the browser believes that it talks with the other site, and shows it what came."""
    answer = server.ask("/runs", Host=host)
    assert answer.status in (400, 421) and FIRST not in answer.body


@pytest.mark.parametrize("path", (*PAGES, "/nothing", "/runs/nothing"))
def test_every_answer_has_a_strict_policy(server: Served, path: str) -> None:
    headers = server.ask(path).headers
    parts = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert parts["default-src"] == "'none'" and parts["frame-ancestors"] == "'none'" and parts["base-uri"] == "'none'"
    assert "unsafe-inline" not in parts["script-src"] and "unsafe-eval" not in parts["script-src"]
    assert "unsafe-inline" not in parts["style-src"] and parts["connect-src"] == "'self'"
    assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "same-origin" and "server" not in headers


@pytest.mark.parametrize("path", [p for p in PAGES if p != "/metrics"])
def test_every_page_has_a_twin_in_json_and_shows_names_as_text(server: Served, path: str) -> None:
    html, twins = server.ask(path), server.ask(twin(path))
    assert html.status == twins.status == 200
    assert twins.headers["content-type"] == "application/json"
    json.loads(twins.body)
    assert NASTY not in html.body and f'href="{escape(twin(path))}">JSON</a>' in html.body
    assert "http://" not in re.sub(r"<pre.*?</pre>", "", html.body, flags=re.S)


def test_a_runs_page_is_its_report_and_the_saved_one_is_to_the_byte(server: Served) -> None:
    whole = page.render(load_report(FIRST, store_of(server)))
    saved = server.ask(f"/runs/{FIRST}/report.html")
    assert saved.body == whole and f"strata-{FIRST}.html" in saved.headers["content-disposition"]
    shown = server.ask(f"/runs/{FIRST}").body
    without = re.sub(r'<nav class="site".*?</nav>', " ", shown, flags=re.S)
    assert without.split("<body>")[1].split() == whole.split("<body>")[1].split()
    data = len(re.findall(r'<pre id="figures".*?</pre>', whole, re.S)[0])
    assert len(re.sub(r"<main>.*</main>", "", whole, flags=re.S)) - data < 150_000


def test_the_list_is_filtered_and_a_stopped_run_says_how_it_goes_on(server: Served) -> None:
    ids = lambda asked: [r["id"] for r in json.loads(server.ask(f"/runs.json{asked}").body)["runs"]]  # noqa: E731
    assert ids("") == [STOPPED, SECOND, FIRST]
    assert ids("?name=first") == [FIRST] and ids("?name=no%25such") == [] and ids("?page=2") == []
    assert ids("?since=1h") == [] and ids("?since=5d") == [STOPPED, SECOND, FIRST]
    assert server.ask("/runs?since=yesterday").status == 404
    assert escape(NASTY).replace("&#x27;", "&#39;") in server.ask("/runs").body
    unfinished = server.ask(f"/runs/{STOPPED}").body
    assert f"strata measure --resume {STOPPED}" in unfinished


@pytest.mark.parametrize(
    "path", ["/runs/nothing", "/nothing", "/compare?run=a", f"/compare?run={FIRST}&run=b", "/gate"]
)
def test_what_is_not_there_is_an_error_in_words_in_both_forms(server: Served, path: str) -> None:
    html, twins = server.ask(path), server.ask(twin(path))
    assert html.status == twins.status == 404
    assert json.loads(twins.body)["error"] and "Next:" in html.body


def test_several_runs_stand_beside_each_other(server: Served) -> None:
    both = server.ask(f"/compare?run={FIRST}&run={SECOND}").body
    assert "−20" in both or "-20" in both
    assert server.ask(f"/compare?run={FIRST}&run={FIRST}").status == 404


def test_each_of_several_is_what_the_two_alone_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read once for all of them is what each pair would have read."""
    from filling import fill as fill_in_bulk

    (tmp_path / "s").mkdir(mode=0o700)
    with open_store(str(tmp_path / "s" / "strata.db")) as store:
        fill_in_bulk(store, 9)
    with served(tmp_path / "s") as server:
        alone = [json.loads(server.ask(f"/compare.json?run=run-000001&run=run-00000{n}").body) for n in (4, 7)]
        several = "run=run-000001&run=run-000004&run=run-000007"
        twin = json.loads(server.ask(f"/compare.json?{several}").body)["comparisons"]
        assert twin == [one | {"cells": [c | {"shifts": [], "gap": None} for c in one["cells"]]} for one in alone]
        shown = server.ask(f"/compare?{several}").body
        for verdict in {cell["verdict"] for one in alone for cell in one["cells"]}:
            rows = sum(cell["verdict"] == verdict for one in alone for cell in one["cells"])
            assert len(re.findall(rf'class="mark">[^<]*</span> {verdict}', shown)) == rows
        assert alone[0]["learnt_from"] and any(cell["shifts"] for cell in alone[0]["cells"])
        # With so many cells each pair has a page of its own for them.
        assert "too many cells for one page" in shown and 'class="change-of"' not in shown
    # Of fewer it tells what each pair tells.
    monkeypatch.setattr(remembered, "WHOLE_MOST", 1000)
    names = ["run-000001", "run-000004", "run-000007"]
    pages = remembered.RememberedPages(str(tmp_path / "s" / "strata.db"))
    page = pages.compared(names, anyway=False, by_age=False)
    whole = page.html("")
    assert json.loads(page.json())["comparisons"] == alone
    shifts = [shift for one in alone for cell in one["cells"] for shift in cell["shifts"]]
    assert whole.count('class="change-of"') == len(shifts) > 0


def test_what_is_no_fair_comparison_is_said_and_can_be_asked_anyway(tmp_path: Path) -> None:
    fill(tmp_path / "s")
    with open_store(str(tmp_path / "s" / "strata.db")) as store:
        other = report("20260301-130000-dddd", 4)
        plan = other.run.plan.model_copy(update={"runtime_s": 77.0})
        run = other.run.model_copy(update={"plan": plan})
        store.keep_whole([(run, other.results, (other.analysis, other.diagnosis))])
    with served(tmp_path / "s") as server:
        refused = server.ask(f"/compare?run={FIRST}&run={run.id}&by_age=1")
        assert refused.status == 409 and "run time" in refused.body
        link = re.search(r'href="([^"]*anyway=1)"', refused.body)
        assert link is not None
        assert server.ask(link[1].replace("&amp;", "&")).status == 200


def test_a_host_that_differs_is_named_on_the_page_of_a_fleet(tmp_path: Path) -> None:
    from filling import fill as fill_in_bulk

    (tmp_path / "s").mkdir(mode=0o700)
    with open_store(str(tmp_path / "s" / "strata.db")) as store:
        fill_in_bulk(store, 6)
        with store._engine.begin() as sql:
            sql.exec_driver_sql("UPDATE figures SET mean_ns = mean_ns * 3, iops = iops / 3 WHERE run_id = 'run-000003'")
    with served(tmp_path / "s") as server:
        asked = "&".join(f"run=run-00000{n}" for n in range(6))
        found = json.loads(server.ask(f"/fleet.json?{asked}").body)
        assert len(found["hosts"]) == 6 and found["differs"]
        assert all("run-000003" in d["host"] for d in found["differs"])
        shown = server.ask(f"/fleet?{asked}").body.split("<main>")[1]
        marked = [row for row in shown.split("<tr>") if "mark-slower" in row]
        assert marked and all("run-000003" in row for row in marked)
        assert server.ask("/fleet?run=run-000001").status == 404


def test_a_watching_is_shown_and_looked_back_to(tmp_path: Path) -> None:
    fill(tmp_path / "s")
    keep_slices(tmp_path / "s")
    with served(tmp_path / "s") as server:
        now = json.loads(server.ask(f"/watch.json?path={WATCHED}").body)
        assert len(now["slices"]) == 20 and now["events"]
        (kept,) = json.loads(server.ask("/watch.json").body)["watched"]
        assert kept["where"] == WATCHED and kept["to_unix_ns"] == now["to_unix_ns"]
        assert f'href="/watch?path={WATCHED}">{WATCHED}</a>' in server.ask("/watch").body
        at = datetime.fromtimestamp(now["to_unix_ns"] / 1e9).astimezone()
        back = server.ask(f"/watch?path={WATCHED}&around={at:%H:%M:%S}")
        assert back.status == 200 and "EventSource" not in back.body and "local time" in back.body
        for wrong in (f"path={WATCHED}&around=25:99", "path=/nothing", "path=%00", f"path={'x' * 2000}"):
            assert server.ask(f"/watch?{wrong}").status == 404
        assert server.ask("/watch/events?path=%00").status == 404
        assert server.ask("/watch").status == 200


def test_a_read_only_server_changes_nothing(server: Served) -> None:
    own = {"Origin": server.base, "Content_Type": "application/x-www-form-urlencoded"}
    for path in (f"/runs/{FIRST}/label", f"/runs/{FIRST}/delete"):
        assert server.ask(path, "POST", "name=x", **own).status == 403
        assert server.ask(path).status in (404, 405)
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert server.ask(f"/runs/{FIRST}", method).status == 405
    assert server.ask(f"/runs/{FIRST}").status == 200
    assert 'method="post"' not in server.ask(f"/runs/{FIRST}/edit").body


def test_requests_are_bounded(server: Served) -> None:
    assert server.ask(f"/runs?name={'x' * 5000}").status == 414
    assert server.ask("/runs", X_Long="x" * 40_000).status in (400, 431)
    assert server.ask("/runs").status == 200


def test_with_control_a_run_is_renamed_and_deleted_by_its_own_page_alone(tmp_path: Path) -> None:
    fill(tmp_path / "s")
    with served(tmp_path / "s", "--control") as server:
        own = {"Origin": server.base, "Content_Type": "application/x-www-form-urlencoded"}
        label = f"/runs/{FIRST}/label"
        for wrong in ({"Origin": None}, {"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "cross-site"}):
            assert server.ask(label, "POST", "name=evil", **(own | wrong)).status == 403
        assert server.ask(label, "POST", "name=evil", Authorization=None, **own).status == 401
        assert server.ask(label, "POST", "x" * 20_000, **own).status == 413
        assert server.ask(f"/runs/{FIRST}").status == 200  # its page is kept made, and is made anew under another name
        done = server.ask(label, "POST", f"name={'n' * 64}&note=because", **own)
        assert done.status == 303 and done.headers["location"] == f"/runs/{FIRST}"
        assert "n" * 64 in server.ask(f"/runs/{FIRST}").body
        assert server.ask(label, "POST", f"name={'n' * 65}", **own).status == 404
        assert server.ask(f"/runs/{SECOND}/delete", "POST", "", **own).status == 303
        assert server.ask(f"/runs/{SECOND}").status == 404 and server.ask(f"/runs/{FIRST}").status == 200


def test_the_token_outlives_the_server_and_can_be_made_anew(tmp_path: Path) -> None:
    with served(tmp_path / "s") as server:
        first = server.token
    assert (tmp_path / "s" / "serve" / "token").stat().st_mode & 0o777 == 0o600
    with served(tmp_path / "s") as server:
        assert server.token == first
    with served(tmp_path / "s", "--new-token") as server:
        assert server.token != first


def test_the_metrics_are_accepted_by_prometheus(server: Served) -> None:
    answer = server.ask("/metrics")
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.body.endswith("# EOF\n") and "strata_cell_iops{" in answer.body
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    assert {f.name for f in text_string_to_metric_families(answer.body)} >= {"strata_cell_iops", "strata_live_iops"}
    promtool.checked("metrics", answer.body)


def test_the_metrics_of_a_running_measurement_are_accepted_by_prometheus(tmp_path: Path) -> None:
    """With names that nobody would choose, and beside the newest finished run."""
    fill(tmp_path / "s")
    with measuring(tmp_path / "s"), served(tmp_path / "s") as server:
        until("a rate", 30, lambda: "strata_live_iops{" in server.ask("/metrics").body)
        told = server.ask("/metrics").body
        assert "strata_cell_iops{" in told and told.endswith("# EOF\n")
        promtool.checked("metrics", told)


def test_with_a_certificate_it_speaks_nothing_but_tls(tmp_path: Path) -> None:
    import ssl
    import urllib.request

    from strata.fleet import trust

    root = tmp_path / "trust"
    trust.make(root, ("localhost",), 30)
    fill(tmp_path / "s")
    words = ("--certificate", root / "localhost" / "node.pem", "--key", root / "localhost" / "node-key.pem")
    with served(tmp_path / "s", *map(str, words)) as server:
        assert server.url.startswith("https://")
        with pytest.raises(OSError):
            server.ask("/runs")
        knows = ssl.create_default_context(cafile=str(root / "localhost" / "ca.pem"))
        knows.check_hostname = False
        request = urllib.request.Request(f"{server.base}/runs", headers={"Authorization": f"Bearer {server.token}"})
        with urllib.request.urlopen(request, context=knows) as answer:
            assert answer.status == 200 and FIRST in answer.read().decode()


def test_a_user_is_told_how_it_ends_and_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_STATE_DIR", str(tmp_path / "s"))
    outside = strata("serve", "--listen", "0.0.0.0:0")
    assert outside.returncode == 5 and "certificate" in outside.stderr and "ssh -L" in outside.stderr
    with served(tmp_path / "s") as server:
        taken = strata("serve", "--listen", f"127.0.0.1:{server.port}")
    assert taken.returncode == 1 and "hint: give another port" in taken.stderr and "Traceback" not in taken.stderr


@pytest.mark.ci
@pytest.mark.first
def test_a_sweep_and_a_matrix_have_their_pages_and_a_sweep_answers_what_if(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRATA_STATE_DIR", str(tmp_path / "s"))
    runs = measured_kinds(tmp_path / "s", tmp_path_factory)
    matrix, sweep = runs["matrix"], runs["sweep"]
    fill(tmp_path / "s")
    with served(tmp_path / "s") as server:
        assert {r["id"] for r in json.loads(server.ask("/runs.json").body)["runs"]} >= {matrix, sweep}
        told = server.ask("/metrics")
        assert told.status == 200 and "strata_cell_iops{" in told.body
        assert "random read" in server.ask(f"/runs/{matrix}").body
        assert json.loads(server.ask(f"/runs/{matrix}.json").body)["schema"] == "strata.matrix/1"
        plain = server.ask(f"/runs/{sweep}").body
        assert 'name="if.limit"' in plain and "limit=2x" not in plain
        asked = "?if.limit=2&if.delay=1&if.cores=x&if.x=1e9"
        found = json.loads(server.ask(f"/runs/{sweep}.json{asked}").body)
        assert [w["asked"] for w in found["what_if"]] == ["limit=2x"]
        assert "limit=2x" in server.ask(f"/runs/{sweep}{asked}").body
        # What was asked is not kept: the run is what it was.
        assert server.ask(f"/runs/{sweep}").body == plain
        assert "<form" not in server.ask(f"/runs/{sweep}/report.html").body


def test_the_dashboard_asks_for_metrics_that_there_are(server: Served) -> None:
    """Grafana is not to be had here: the dashboard's queries are compared with what is served, by Prometheus' own
    parser."""
    from serving import SOURCE

    dashboard = json.loads((SOURCE.parent / "examples" / "grafana.json").read_text(encoding="utf-8"))
    asked = [t["expr"] for p in dashboard["panels"] for t in p["targets"]]
    served_names = set(re.findall(r"^# TYPE (\S+)", server.ask("/metrics").body, re.M))
    named = {name for expr in asked for name in re.findall(r"strata_\w+", expr)}
    assert len(asked) >= 9 and named <= served_names
    assert all(p["datasource"]["uid"] == "${source}" for p in dashboard["panels"])
    rules = [{"record": f"r{i}", "expr": re.sub(r"\$\w+", ".*", expr)} for i, expr in enumerate(asked)]
    promtool.checked("rules", json.dumps({"groups": [{"name": "g", "rules": rules}]}))
