"""What a page is made of: the same thing as HTML and as JSON, and the templates of the pages that only a server has."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from strata.errors import StrataError, UsageError
from strata.report.html import frame

PAGES = (("/runs", "Runs"), ("/history", "History"), ("/baselines", "Baselines"), ("/watch", "Watch"))
STYLES = ("style.css", "compare.css", "history.css", "matrix.css", "scale.css", "live.css", "site.css")
SCRIPTS = ("script.js", "live.js")


Link = tuple[str, str]
"""Its word and its address."""


@dataclass(frozen=True)
class Shown:
    """One thing in both forms, each made only where it is asked for. The page is told the address of its twin."""

    html: Callable[[str], str]
    json: Callable[[], str]
    status: int = 200


@cache
def environment() -> Environment:
    """The templates of reports and of this folder."""
    return frame.environment(PackageLoader("strata.serve", "templates"))


def compile_all() -> None:
    """Makes every template ready, of this folder and of reports: the first of each page does not wait for it."""
    for env in (environment(), frame.environment()):
        for name in env.list_templates(extensions=["html"]):
            env.get_template(name)


def policy() -> str:
    """What a browser may load and run: the sheets and scripts of our own, known by their hashes, and this server."""
    env = environment()
    styles, scripts = (
        " ".join(f"'{frame.hash_of(frame.source(env, name))}'" for name in names) for names in (STYLES, SCRIPTS)
    )
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; style-src-attr 'unsafe-inline'; "
        "connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


def site(current: str, *links: Link) -> Markup:
    """What stands above every page: where else to go, and ``links`` to what belongs to this one."""
    return part("nav.html", pages=PAGES, current=current, links=links)


def part(template: str, **context: Any) -> Markup:
    """What is placed in a page."""
    return Markup(environment().get_template(template).render(**context))


def own_page(
    template: str, current: str, csv: str | None = None, name: str = "strata", links: tuple[Link, ...] = (),
    **context: Any,
) -> Callable[[str], str]:  # fmt: skip
    """How a page of this folder is made, with ``links`` to what belongs to it. Its HTML stands in the same frame as a
    report; the answer to a form has no twin."""

    def made(twin: str) -> str:
        above = site(current, *links, *([("JSON", twin)] if twin else []))
        return frame.render(template, csv, name, ("site.css",), env=environment(), site=above, **context)

    return made


def locked(why: str) -> str:
    """The page of a browser that has not the token: nothing of the store, and no way to pages that it may not see."""
    return frame.render("locked.html", None, "strata", ("site.css",), env=environment(), why=why)


def refusal(error: StrataError, anyway: str | None = None, back: str | None = None) -> Shown:
    """An error in its own words. ``anyway``: the address at which it is done all the same, where that can be asked;
    ``back``: where the form is that asked for it."""
    status = 404 if isinstance(error, UsageError) else 409 if error.exit_code == 4 else 500
    told = {"error": error.headline, "problems": list(error.problems), "hint": error.hint}
    return Shown(
        own_page("refused.html", "", error=error, anyway=anyway, back=back),
        lambda: json.dumps(told, indent=2, ensure_ascii=False),
        status,
    )
