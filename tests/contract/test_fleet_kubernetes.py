"""The manifests of the guide: they fit the published schema, and what their containers run joins with TLS."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from commands import ROOT, STRATA, strata
from fleet_peers import said
from json_schema import problems

GUIDE = ROOT / "docs" / "guide" / "nodes.md"
SCHEMA: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "kubernetes" / "schema.json").read_text())


def manifests() -> list[dict[str, Any]]:
    (block,) = (part.partition("```")[0] for part in GUIDE.read_text().split("```yaml\n")[1:])
    return list(yaml.safe_load_all(block))


def wrong(manifest: Mapping[str, Any]) -> list[str]:
    found: list[str] = problems(manifest, SCHEMA["$defs"][manifest["kind"]], SCHEMA)
    return found


def test_the_manifests_fit_the_published_schema_and_spoiled_ones_do_not() -> None:
    found = manifests()
    assert [one["kind"] for one in found] == ["Service", "Pod", "Pod"]
    assert [wrong(one) for one in found] == [[], [], []]
    service, _, node = found
    service["spec"]["ports"] = [{"port": "8786"}]
    assert wrong(service) == ["$.spec.ports[0].port: str is no integer"]
    (container,) = node["spec"]["containers"]
    container["securitycontext"] = container.pop("securityContext")
    assert wrong(node) == ["$.spec.containers[0]: securitycontext is not in the schema"]


def test_what_they_name_is_there() -> None:
    service, scheduler, node = manifests()
    assert service["spec"]["selector"].items() <= scheduler["metadata"]["labels"].items()
    (port,) = service["spec"]["ports"]
    commands = [pod["spec"]["containers"][0]["command"][2] for pod in (scheduler, node)]
    assert f"--listen tls://0.0.0.0:{port['port']} " in commands[0]
    assert f"join tls://{service['metadata']['name']}:{port['port']} --name {node['metadata']['name']} " in commands[1]
    for pod in (scheduler, node):
        (volume,) = pod["spec"]["volumes"]
        assert [m["name"] for m in pod["spec"]["containers"][0]["volumeMounts"]] == [volume["name"]]
        assert volume["secret"]["secretName"] == f"trust-{pod['metadata']['name']}"


def as_a_secret(folder: Path, at: Path) -> Path:
    """The files as the kubelet puts them into a container: links to what everybody may read."""
    (there := at / "..2026").mkdir(parents=True)
    (at / "..data").symlink_to("..2026")
    for file in folder.iterdir():
        (there / file.name).write_bytes(file.read_bytes())
        (there / file.name).chmod(0o644)
        (at / file.name).symlink_to(f"..data/{file.name}")
    return at


def container(manifest: Mapping[str, Any], folder: Path, secret: Path, address: str) -> subprocess.Popen[str]:
    """What it runs, with the directories and the address of a test."""
    *shell, line = manifest["spec"]["containers"][0]["command"]
    for word, here in (
        ("/trust/", f"{secret}/"), ("/tmp/t", str(folder / "t")), ("exec strata", f"exec {' '.join(STRATA)}"),
        ("tls://0.0.0.0:8786", address), ("tls://scheduler:8786", address),
    ):  # fmt: skip
        line = line.replace(word, here)
    env = os.environ | {"XDG_STATE_HOME": str(folder)}
    return subprocess.Popen([*shell, line], stderr=subprocess.PIPE, text=True, env=env)


@pytest.mark.ci
@pytest.mark.first
def test_their_commands_join_with_certificates_that_come_as_a_secret(tmp_path: Path) -> None:
    made = strata("node", "trust", "node-1", "--dir", tmp_path / "trust")
    assert made.returncode == 0, made.stderr
    _, scheduler, node = manifests()
    secrets = {n: as_a_secret(tmp_path / "trust" / n, tmp_path / f"secret-{n}") for n in ("scheduler", "node-1")}
    folders = {name: tmp_path / f"pod-{name}" for name in secrets}
    for folder in folders.values():
        folder.mkdir(mode=0o700)
    running = [container(scheduler, folders["scheduler"], secrets["scheduler"], "tls://127.0.0.1:0")]
    try:
        address = said(running[0], "scheduler at ").split()[2]
        running.append(container(node, folders["node-1"], secrets["node-1"], address))
        said(running[1], "has joined")
        listed = strata("node", "list", address, "--trust", tmp_path / "trust" / "client")
        assert listed.returncode == 0 and "node-1" in listed.stdout, listed.stderr
    finally:
        for process in reversed(running):
            process.terminate()
            process.communicate(timeout=15)
