from __future__ import annotations

from pathlib import Path

import pytest

from strata.errors import UsageError
from strata.store.location import default_path, server_url, store_path
from strata.store.opening import open_store


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({"HOME": "/h"}, "/h/.local/state/strata/strata.db"),
        ({"HOME": "/h", "XDG_STATE_HOME": "/x"}, "/x/strata/strata.db"),
        ({"HOME": "/h", "XDG_STATE_HOME": "not/absolute"}, "/h/.local/state/strata/strata.db"),
        ({"HOME": "/h", "XDG_STATE_HOME": "/x", "STRATA_STATE_DIR": "/own"}, "/own/strata.db"),
    ],
)
def test_default(environ, path):
    assert default_path(environ) == Path(path)
    assert store_path(None, environ) == Path(path)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:////a/b.db", "/a/b.db"),
        ("/a/b.db", "/a/b.db"),
        ("sqlite:////a/with%20space.db", "/a/with space.db"),
    ],
)
def test_given(url, path):
    assert store_path(url, {"STRATA_STORE": "/elsewhere"}) == Path(path)
    assert store_path(None, {"STRATA_STORE": url}) == Path(path)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "postgresql://u:secret@h/db", "x://", "://"])
def test_what_is_no_file_is_refused_without_telling_a_password(url):
    with pytest.raises(UsageError) as caught:
        store_path(url)
    assert "secret" not in caught.value.render()
    assert caught.value.hint


@pytest.mark.parametrize("name", ["with space?.db", "a#b%41.db", "ü.db"])
def test_any_file_name_is_the_file_that_is_made(tmp_path, name):
    open_store(str(tmp_path / name)).close()
    open_store(str(tmp_path / name)).close()
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_server_is_told_from_a_file():
    url = server_url("postgresql://u:secret@h/db", {})
    assert url is not None and url.drivername == "postgresql+psycopg" and url.host == "h"
    assert server_url(None, {"STRATA_STORE": "postgresql://h/db"}) == server_url("postgresql://h/db", {})
    assert [server_url(text, {}) for text in ("/a/b.db", "sqlite:////a/b.db", None)] == [None] * 3
