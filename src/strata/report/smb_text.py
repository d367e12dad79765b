"""What was agreed on with an SMB server, in one line."""

from __future__ import annotations

from typing import Any

from strata import units


def smb_words(effective: dict[str, Any]) -> str | None:
    """``SMB 3.1.1 · encrypted by AES-128-GCM · 2 sessions``, and credits where they were too few; None of no share."""
    agreed = effective.get("smb")
    if not isinstance(agreed, dict):
        return None
    signing, encryption = agreed["signing"], agreed["encryption"]
    words = [str(agreed["dialect"])]
    if encryption != "none":
        words.append(f"encrypted with {encryption}")
    else:
        words.append("neither signed nor encrypted" if signing == "none" else f"signed with {signing}, not encrypted")
    if agreed["channels"] > 1:
        words.append(f"{agreed['channels']} channels per session")
    elif agreed["sessions"] > 1:
        words.append(f"{agreed['sessions']} sessions")
    credits, needed = agreed["credits"], agreed["credits_needed"]
    if credits < needed:
        words.append(
            f"{units.count(credits)} credits, but the depth needs {units.count(needed)}: requests waited for "
            "credits, and the latency includes that"
        )
    return " · ".join(words)
