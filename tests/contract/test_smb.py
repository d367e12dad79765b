"""`smb://` against a real smbd: a file is made, marked, filled and removed; what is not ours is left alone."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import measured, started, strata
from engine_cases import MIB, request
from samba import PASSWORD, Smbd, smbd

from strata.engine import engine_of, probe_remote, read_remote, run_job
from strata.engine.job import build_job
from strata.engine.remote_file import clean as clean_shares
from strata.errors import RunFailed
from strata.host import registry
from strata.host.mark import Mark, header_bytes, parse_header
from strata.model.endpoint import Endpoint
from strata.model.result import Interval
from strata.run.judge import fault

pytestmark = pytest.mark.root
WORDS = ("--size", "8m", "--bs", "16k", "--iodepth", 4, "--runtime", "100ms")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Smbd]:
    with smbd(tmp_path_factory.mktemp("smbd") / "s") as running:
        yield running


def own(server: Smbd, name: str, size: int = 8 * MIB) -> Path:
    """A file of Strata's own on the share."""
    path = server.share / name
    path.write_bytes(header_bytes(Mark.new(size)).ljust(size, b"\x5a"))
    return path


@pytest.mark.parametrize("rw", ["randread", "randwrite"])
def test_a_file_that_is_not_there_is_made_and_removed_again(server: Smbd, rw: str) -> None:
    document = measured(server.uri("new file.dat".replace(" ", "%20")), *WORDS, "--rw", rw)
    result = document["result"]
    assert result["read" if rw == "randread" else "write"]["ops"] > 0
    assert result["errored"] == 0
    assert list(server.share.iterdir()) == []
    assert registry.entries() == ()
    told = result["effective"]["smb"]
    assert told["dialect"] == "SMB 3.1.1"
    assert (told["signing"], told["encryption"], told["sessions"], told["channels"]) == ("none", "none", 1, 1)
    assert told["credits"] >= told["credits_needed"] == 4
    assert told["max_read_bytes"] >= MIB


def test_a_kept_file_is_marked_filled_and_used_again(server: Smbd) -> None:
    measured(server.uri("kept.dat"), *WORDS, "--keep")
    path = server.share / "kept.dat"
    data = path.read_bytes()
    mark = parse_header(data[:4096])
    assert mark is not None and mark.size == len(data) == 8 * MIB
    # Filled: no page of it is empty or a copy of another.
    assert len({data[at : at + 4096] for at in range(0, len(data), 4096)}) == len(data) // 4096
    written = measured(server.uri("kept.dat"), "--rw", "randwrite", *WORDS)["result"]["write"]
    assert written["ops"] > 0
    after = path.read_bytes()
    assert after[:MIB] == data[:MIB]
    assert after != data
    assert clean_shares() == ((), ())
    path.unlink()


def test_what_strata_did_not_make_is_read_and_never_written(server: Smbd) -> None:
    path = server.share / "theirs.dat"
    path.write_bytes(os.urandom(4 * MIB))
    before = path.read_bytes()
    done = strata("measure", server.uri("theirs.dat"), "--rw", "randwrite", *WORDS)
    assert done.returncode == 5
    assert "does not carry Strata's mark" in done.stderr
    again = strata(
        "measure", server.uri("theirs.dat"), "--rw", "write", *WORDS, "--destructive", server.uri("theirs.dat")
    )
    assert again.returncode == 5
    assert measured(server.uri("theirs.dat"), *WORDS[2:])["result"]["read"]["ops"] > 0
    assert path.read_bytes() == before
    path.unlink()


def test_no_password_is_kept_printed_or_told(server: Smbd, own_state: Path) -> None:
    own(server, "own.dat")
    said = []
    for uri, env in ((server.uri("own.dat"), None), (server.uri("own.dat", password=False), PASSWORD)):
        with pytest.MonkeyPatch.context() as given:
            if env is not None:
                given.setenv("STRATA_SMB_PASSWORD", env)
            done = strata("measure", uri, *WORDS, "--json")
        assert done.returncode == 0, done.stderr
        said += [done.stdout, done.stderr]
    wrong = strata("measure", server.uri("own.dat").replace("open%20sesame", "barley"), *WORDS)
    assert wrong.returncode == 1
    assert "STATUS_LOGON_FAILURE" in wrong.stderr
    # A file that is made is in the list of files until it is removed; a plan and a matrix keep their command lines.
    matrix = ("--matrix", "bs=4k;iodepth=1;rw=randread", "--budget", "1s", "--progress", "none")
    whole = strata("measure", server.uri("made.dat"), *matrix, "--size", "8m", "--keep")
    assert whole.returncode == 0, whole.stderr
    files = [path.read_bytes().decode(errors="replace") for path in own_state.rglob("*") if path.is_file()]
    assert any("made.dat" in text for text in files)
    everything = (*said, *files, wrong.stderr, whole.stdout, whole.stderr)
    assert not any(word in text for text in everything for word in ("sesame", "barley"))


def test_a_credentials_file_as_mount_has_it(server: Smbd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own(server, "own.dat")
    secret = tmp_path / "credentials"
    secret.write_text(f"username=root\npassword={PASSWORD}\n")
    secret.chmod(0o600)
    uri = f"smb://127.0.0.1:{server.port}/share/own.dat?credentials={secret}"
    assert measured(uri, *WORDS)["result"]["read"]["ops"] > 0
    missing = strata("measure", f"{uri}.gone", *WORDS)
    assert "cannot use the credentials file" in missing.stderr
    monkeypatch.setenv("STRATA_SMB_CREDENTIALS", str(secret))
    assert measured(server.uri("own.dat", password=False), *WORDS)["result"]["read"]["ops"] > 0
    monkeypatch.delenv("STRATA_SMB_CREDENTIALS")
    secret.chmod(0o644)
    shared = strata("measure", uri, *WORDS)
    assert shared.returncode == 1
    assert f"chmod 600 {secret}" in shared.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("sign=on", {"signing": "AES-128-GMAC"}),
        ("encrypt=on", {"encryption": "AES-128-GCM", "signing": "none"}),
        ("connections=3", {"sessions": 3, "channels": 1}),
        ("connections=4&multichannel=on&sign=required", {"sessions": 2, "channels": 2, "signing": "AES-128-GMAC"}),
    ],
)
def test_what_is_asked_is_in_force_and_told(server: Smbd, options: str, told: dict[str, Any]) -> None:
    own(server, "own.dat")
    threads = 2 if "multichannel" in options else 1
    asked = request(server.uri("own.dat", options), "randrw", rwmixread=50, iodepth=8, threads=threads)
    result = engine_of("native").run(asked)
    assert fault(result) is None
    assert result.read.ops > 0 < result.write.ops
    assert {key: result.effective["smb"][key] for key in told} == told


def test_write_through_is_what_the_server_does(server: Smbd) -> None:
    own(server, "own.dat")
    for sync in ("dsync", "rwf_dsync"):
        result = engine_of("native").run(request(server.uri("own.dat"), "randwrite", sync=sync))
        assert (result.effective["sync"], result.errored) == (sync, 0)
        assert result.write.ops > 0
    asked = request(server.uri("own.dat"), "randwrite")
    each = asked.workload.model_copy(update={"fdatasync": 4})
    flushed = engine_of("native").run(asked.model_copy(update={"workload": each}))
    assert flushed.sync is not None and flushed.sync.ops > 0


def test_a_server_that_goes_in_mid_run_ends_it_with_what_was_measured(tmp_path: Path) -> None:
    with smbd(tmp_path / "s") as server:
        own(server, "own.dat")
        gone = threading.Event()

        def pull(_: Interval) -> None:
            if not gone.is_set():
                server.kill()
                gone.set()

        result = engine_of("native").run(request(server.uri("own.dat"), iodepth=4, runtime_s=60), pull)
    assert gone.is_set()
    assert result.stop_reason == "error"
    assert result.read.ops > 0
    assert result.issued == result.completed + result.errored + result.stuck
    assert "connection lost" in (fault(result) or "")
    assert "sesame" not in result.model_dump_json()


def test_what_a_killed_run_left_is_cleaned_and_nothing_else(
    server: Smbd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    running = started("measure", server.uri("left.dat"), *WORDS, "--runtime", "60s", "--progress", "plain")
    assert running.stderr is not None
    while not (line := running.stderr.readline()).startswith("measuring"):
        assert line, running.wait()
    running.kill()
    running.communicate()
    left = server.share / "left.dat"
    assert left.exists()
    [entry] = registry.entries()
    assert "sesame" not in json.dumps(entry.path)
    # Without the password it waits; with it it goes.
    removed, waiting = clean_shares()
    assert removed == () and len(waiting) == 1 and left.exists()
    monkeypatch.setenv("STRATA_SMB_PASSWORD", PASSWORD)
    done = strata("clean")
    assert "left.dat" in done.stderr, done
    assert not left.exists()
    assert registry.entries() == ()
    # Another file of that name is not the one that was left.
    left.write_bytes(header_bytes(Mark.new(MIB)).ljust(MIB, b"\0"))
    registry.add(registry.Entry("smb://" + entry.path.removeprefix("smb://"), entry.uuid, "", 0, 1, "gone"))
    assert clean_shares() == ((), ())
    assert left.exists()
    assert registry.entries() == ()
    left.unlink()


def test_a_remote_is_probed_and_read(server: Smbd) -> None:
    path = own(server, "own.dat")
    endpoint = Endpoint.parse(server.uri("own.dat"))
    seen = probe_remote("share", endpoint)
    assert 0 < seen.min_rtt_ns <= seen.rtt_ns.value
    assert read_remote(endpoint, 100, 5000) == path.read_bytes()[100:5100]
    # From a namespace, here the one this process is in.
    assert read_remote(endpoint.seen_from("/proc/self/ns/net"), 0, 16) == path.read_bytes()[:16]
    with pytest.raises(RunFailed, match="STATUS_OBJECT_NAME_NOT_FOUND"):
        read_remote(Endpoint.parse(server.uri("none.dat")), 0, 1)


def test_a_job_with_a_password_is_refused_without_showing_it(server: Smbd) -> None:
    asked = request(server.uri("none.dat"))
    job = build_job(asked.endpoint, asked.workload, asked.segments, asked.timing)
    assert job["target"]["password"] == PASSWORD
    with pytest.raises(RunFailed) as refused:
        run_job(job)
    assert "sesame" not in refused.value.render()


@pytest.mark.ci
def test_a_stack_with_a_share_is_compared_with_the_file_below(server: Smbd, tmp_path: Path) -> None:
    stack = tmp_path / "stack.toml"
    stack.write_text(
        f"""[stack]
name = "share"
[[layer]]
name = "file system"
endpoint = "file:{server.share}/stack.dat"
[[layer]]
name = "share"
endpoint = "{server.uri("stack.dat")}"
on = ["file system"]
"""
    )
    words = ("--size", "16m", "--rounds", 2, "--runtime", "100ms", "--ramp-time", "20ms", "--no-confirm")
    words += ("--workloads", "randread-8KiB-qd8,write-*")
    done = strata("diagnose", stack, *words, "--progress", "none", "--json")
    assert done.returncode in (0, 4), done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"]["kind"]
    assert "sesame" not in done.stdout + done.stderr
    assert not (server.share / "stack.dat").exists()
