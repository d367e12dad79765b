"""What is secret in a word, and that text has it not."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import rest_in_ci

from strata.errors import RunFailed
from strata.model.endpoint import Endpoint
from strata.model.run import Environment
from strata.store.location import server_url, shown
from strata.text import secrets

CANARY = "Can4ry"
WITH_ONE = [
    "smb://ann:{}@nas/data/x",
    "smb://LAB;ann:{}@nas:4450/data/x?sign=on",
    "smb:/ann:{}@nas/data/x",
    "smb:ann:{}@nas/data/x",
    "smb://ann:{}",
    "nbd://ann:{}@host/export",
    "iscsi://ann:{}@host/target/0",
    "rbd:pool/image:id=admin:key={}",
    "https://ann:{}@host/metrics",
    "postgresql://ann:{}@host/db",
    "postgresql://ann@host/db?sslmode=require&password={}",
    "postgresql://host/db?sslpassword={}&passfile=/home/ann/.pgpass",
    "--store=postgres://ann:{}@host/db",
    "disk=smb://ann:{}@nas/data/x",
    "host=h password={} dbname=strata",
    "host=h password='{}' dbname=strata",
    "--password={}",
]
WITHOUT = [
    "smb://nas:445/data/a@b", "smb://[::1]:4450/d/x", "nbd://host:10809/export@1", "file:/a:b@c", "sqlite:////a:b@c.db",
    "zoned:90/10:10/90", "bs=4k,64k;iodepth=1,8", "a:b@c", "rbd:pool/image?conf=/etc/ceph/ceph.conf", "passes=2",
    "postgresql://ann@host/db?passfile=/home/ann/.pgpass", "smb://nas/data/x?credentials=/home/ann/c",
]  # fmt: skip


@pytest.mark.parametrize("form", WITH_ONE)
@pytest.mark.parametrize("secret", [CANARY, f"a {CANARY}", f"%20{CANARY}", f"a/{CANARY}?b", f"é@{CANARY}"])
def test_a_secret_is_found_wherever_it_stands(form: str, secret: str) -> None:
    word = form.format(secret if "@" in form or "://" not in form or "=" in form else secret.replace("@", ""))
    assert CANARY not in secrets.hidden(word)
    assert secrets.HIDDEN in secrets.hidden(word)
    assert secrets.spans(secrets.hidden(word)) == []


@pytest.mark.parametrize("word", WITHOUT)
def test_a_word_without_a_secret_is_as_it_was(word: str) -> None:
    assert secrets.hidden(word) == word
    assert RunFailed("cannot use", word).where == word


@given(st.text(max_size=40))
def test_any_word_can_be_looked_at(word: str) -> None:
    assert isinstance(secrets.hidden(word), str)
    assert isinstance(secrets.redacted(f"smb://u:{word}@h password={word}"), str)


@pytest.mark.parametrize(
    "unit",
    rest_in_ci(
        ["a:", "x=", "password=", "a://b:", "a:b:@", " x =", "-", "password='\\", "password= ", ":key="], every_day=4
    ),
)
def test_the_longest_foreign_text_is_looked_through_once(unit: str) -> None:
    """What grows with the square of the length would take hours here."""
    text = unit * 100_000
    assert len(secrets.redacted(text)) <= len(text)
    assert len(secrets.hidden(text)) <= len(text)


def test_how_an_address_is_written_can_be_said() -> None:
    for hint in (
        "write nbd://host:port/export",
        "write nfs://host[:port]/export/path/file",
        "smb://user@host[:port]/s",
    ):
        assert RunFailed("cannot", "", "", hint).hint == hint


def test_a_command_line_is_kept_without_secrets_whoever_made_it() -> None:
    words = ["strata", "--store", f"postgresql://u:{CANARY} x@h/db", "--password", CANARY, "nbd://h/e", "a:b@c"]
    made = {"strata_version": "1", "build": {}, "python": "3", "hostname": "h", "kernel": "6"}
    assert Environment.model_validate(made | {"command": words}).command == (
        "strata", "--store", "postgresql://u:***@h/db", "--password", "***", "nbd://h/e", "a:b@c",
    )  # fmt: skip


def test_a_known_secret_is_in_no_error_in_whatever_form() -> None:
    Endpoint.parse("smb://ann:Kn0wn%20%27one@nas/data/x")
    failed = RunFailed("cannot log in", "nas", "the server read Kn0wn 'one", "try Kn0wn%20%27one", ("'Kn0wn 'one'",))
    assert "Kn0wn" not in failed.render() + repr(failed) + str(failed) + str(failed.args)


@pytest.mark.parametrize("secret", ["se cret", "se/cr@et?", "se%20cret"])
def test_a_database_gets_the_password_that_is_not_shown(secret: str) -> None:
    for given_url in (f"postgresql://u:{secret}@h:5433/db", f" postgresql://u@h:5433/db?password={secret} "):
        url = server_url(given_url, {})
        assert url is not None
        assert (url.password, url.host, url.database) == (secret.replace("%20", " "), "h", "db")
        assert shown(url) == "postgresql+psycopg://u:***@h:5433/db"


def test_a_word_that_is_a_command_line_has_secrets_too() -> None:
    command = "attach --password 'a b c' --to mysql://u:sesame@h/ {}"
    shown = secrets.hidden_line(["strata", "scale", "--make", command, "--now", "1"])
    assert shown == ("strata", "scale", "--make", "attach --password '***' --to 'mysql://u:***@h/' '{}'", "--now", "1")
    twice = secrets.hidden_command(f"sh -c {shlex.quote(command)}")
    assert "a b c" not in twice and "sesame" not in twice
    for plain in ("resize --to 4 {}", "no options {}", "half --quoted 'text", "two words", ""):
        assert secrets.hidden_command(plain) == plain


def test_a_secret_that_is_a_word_by_itself_is_known_to_running_text() -> None:
    secrets.know_process(["strata", "--make", "attach --token open-sesame-7 {}"], {})
    assert secrets.redacted("it said open-sesame-7") == "it said ***"
