"""The names that can be asked for, read from where they are, without loading what they name."""

from __future__ import annotations

from pathlib import Path

from strata.host.shipped import demos, profiles, toml_names
from strata.model.axes import MATRICES

__all__ = ["baselines", "demos", "known_profiles", "matrices", "paths", "profiles", "runs"]

NEWEST = 50
"""So many runs are offered."""


def known_profiles() -> tuple[str, ...]:
    """The profiles that come with Strata and the user's own."""
    from strata.host.xdg import config_path

    return tuple(sorted({*profiles(), *toml_names(config_path() / "profiles")}))


def matrices() -> tuple[str, ...]:
    """The matrices that have a name."""
    return tuple(MATRICES)


def runs(store: str | None) -> dict[str, str]:
    """The newest runs of the store with their day and state, the newest first; none where there is no store."""
    if not _there(store):
        return {}
    import time

    from strata.app.kept import opened

    with opened(store) as kept:
        heads = kept.heads(NEWEST)
    return {
        head.id: f"{time.strftime('%Y-%m-%d %H.%M', time.localtime(head.created_unix_ns / 1e9))} {head.status.value}"
        for head in heads
    }


def findings(store: str | None, run_id: str | None) -> dict[str, str]:
    """The findings of a run by their numbers, with what they say; none where there is no store or no verdict."""
    if not _there(store):
        return {}
    from strata.app.kept import load_report

    found = load_report(run_id, store, cells=False).diagnosis.findings
    return {str(number): f"{f.layer}: {f.title}" for number, f in enumerate(found, start=1)}


def baselines(store: str | None) -> tuple[str, ...]:
    """The names that baselines have in the store; none where there is no store."""
    if not _there(store):
        return ()
    from strata.app.history import list_baselines

    return tuple(dict.fromkeys(baseline.name for baseline in list_baselines(store)))


def paths(begun: str, *, devices: bool = False) -> tuple[str, ...]:
    """The paths that begin so, directories with a slash at their end; files, or ``devices``."""
    folder = begun[: begun.rfind("/") + 1]
    try:
        found = sorted(Path(folder or ".").expanduser().iterdir())
    except OSError:
        return ()
    shown = [p for p in found if begun.rpartition("/")[2].startswith(".") or not p.name.startswith(".")]
    kept = (p for p in shown if p.is_dir() or (p.is_block_device() if devices else p.is_file()))
    return tuple(f"{folder}{p.name}{'/' if p.is_dir() else ''}" for p in kept)


def _there(store: str | None) -> bool:
    """Whether there is a store: looking for names makes none."""
    from strata.store.location import server_url, store_path

    return server_url(store) is not None or store_path(store).exists()
