"""Addresses of shares: what they say, and that no password of theirs is ever kept or shown."""

from __future__ import annotations

import pytest

from strata.errors import UsageError
from strata.model import smb_uri
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.stack import Layer, Stack

SECRET = "ge%40heim"


def test_an_address_and_its_password_go_apart() -> None:
    given = f"smb://LAB;ann:{SECRET}@nas:4450/data/dir/x.dat?connections=3&sign=required"
    found = Endpoint.parse(given)
    assert (found.kind, found.connections, found.remote) == (EndpointKind.SMB, 3, True)
    assert found.uri == "smb://LAB;ann@nas:4450/data/dir/x.dat?connections=3&sign=required"
    assert found.password == "ge@heim"
    for shown in (found.model_dump_json(), repr(found), str(found), repr(found.seen_from("/run/netns/n"))):
        assert "heim" not in shown
    assert found.seen_from("/run/netns/n").password == "ge@heim"
    assert Endpoint.model_validate_json(found.model_dump_json()).password is None


@pytest.mark.parametrize("password", ["ge/heim", "ge heim", "g@heim", "ge#h?eim"])
def test_a_password_may_hold_what_an_address_has_another_meaning_for(password: str) -> None:
    found = Endpoint.parse(f"smb://ann:{password}@nas/data/x")
    assert (found.uri, found.password) == ("smb://ann@nas/data/x", password)


@pytest.mark.parametrize(
    "uri", ["smb://nas/data/x", "smb://ann@nas/data/x", "smb://nas/data/a@b:c", "smb://[::1]:4450/d/x"]
)
def test_without_one_it_is_as_it_was_given(uri: str) -> None:
    found = Endpoint.parse(uri)
    assert (found.uri, found.password) == (uri, None)


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        (f"smb://u:{SECRET}@/data/x", "the host is missing"),
        (f"smb://u:{SECRET}@nas:port/data/x", "host or port"),
        (f"smb://u:{SECRET}@nas", "the path of a file below the share is missing"),
        (f"smb://u:{SECRET}@nas/data", "the path of a file below the share is missing"),
        (f"smb://u:{SECRET}@nas/data/../x", "the path of a file below the share is missing"),
        (f"smb://u:{SECRET}@nas/data/x?connections=65", "connections"),
        (f"smb://u:{SECRET}@nas/data/x?sign=maybe", "sign"),
        (f"smb://u:{SECRET}@nas/data/x?encrypt=required", "encrypt"),
        (f"smb://u:{SECRET}@nas/data/x?speed=high", "speed"),
        ("smb://u:geheim/nas/data/x", "host or port"),
        (f"smbx://u:{SECRET}@nas/data/x", "unknown scheme"),
    ],
)
def test_refusals_show_no_password(uri: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as refused:
        Endpoint.parse(uri)
    assert "heim" not in refused.value.render()


def test_a_stack_holds_it_and_saves_it_not() -> None:
    text = f'[stack]\nname = "s"\n[[layer]]\nname = "share"\nendpoint = "smb://ann:{SECRET}@nas/data/x"\n'
    stack = Stack.from_toml(text)
    layer = stack.layer("share")
    assert layer.endpoint == "smb://ann@nas/data/x"
    assert stack.endpoint_of(layer).password == "ge@heim"
    assert layer.model_copy(update={"on": ("disk",)}).target.password == "ge@heim"
    assert "heim" not in stack.model_dump_json() + repr(stack)
    assert Stack.model_validate_json(stack.model_dump_json()).layer("share").target.password is None
    assert Layer(name="a", endpoint="file:/x").target.password is None


def test_what_both_halves_of_strata_understand() -> None:
    """The options and bounds here are those of the compiled client: what it would refuse is refused before."""
    every = "connections=64&multichannel=on&sign=on&encrypt=off&credentials=/etc/c"
    assert smb_uri.problem(f"smb://nas/data/x?{every}") is None
    assert smb_uri.connections("smb://nas/data/x") == 1
