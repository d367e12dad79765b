"""What a measurement says of the share it was of."""

from __future__ import annotations

from strata.report.measure_text import smb_words

AGREED = {
    "dialect": "SMB 3.1.1",
    "signing": "none",
    "encryption": "none",
    "sessions": 1,
    "channels": 1,
    "credits": 512,
    "credits_needed": 32,
}


def words(**changed: object) -> str:
    return str(smb_words({"smb": AGREED | changed}))


def test_nothing_is_said_of_what_is_no_share() -> None:
    assert smb_words({"direct": True}) is None


def test_what_was_agreed_on_is_said() -> None:
    assert words() == "SMB 3.1.1 · neither signed nor encrypted"
    assert (
        words(signing="AES-128-GMAC", sessions=3) == "SMB 3.1.1 · signed with AES-128-GMAC, not encrypted · 3 sessions"
    )
    assert words(encryption="AES-128-GCM", channels=2) == (
        "SMB 3.1.1 · encrypted with AES-128-GCM · 2 channels per session"
    )


def test_the_cards_that_connections_are_spread_over_are_said() -> None:
    several = words(sessions=2, addresses=["10.0.0.1", "10.0.1.1"])
    assert several.endswith("2 sessions · over 2 cards of the server: 10.0.0.1, 10.0.1.1")
    assert "cards" not in words(sessions=2, addresses=[])


def test_too_few_credits_are_said() -> None:
    assert "8 credits, but the depth needs 64: requests waited" in words(credits=8, credits_needed=64)
    assert "credits" not in words(credits=64, credits_needed=64)
