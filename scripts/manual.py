#!/usr/bin/env python3
"""The man pages and the completion scripts, made from the commands as they are.

    scripts/manual.py PREFIX        writes PREFIX/share/man/man1/… and what four shells load, below PREFIX/share

Every command and group has a page: strata(1), strata-measure(1), strata-lab-up(1). A page says what the help says. Its
date is that of SOURCE_DATE_EPOCH. Docutils writes the roff.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import typer
from docutils import core, nodes, utils
from docutils.frontend import get_default_settings
from docutils.writers import manpage

from strata import __version__
from strata.cli import completion
from strata.cli.examples import EXAMPLES
from strata.cli.help import HelpCommand, path_of
from strata.cli.main import app
from strata.errors import Exit

PLACES = {
    "bash": "bash-completion/completions/strata",
    "zsh": "zsh/site-functions/_strata",
    "fish": "fish/vendor_completions.d/strata.fish",
    "powershell": "strata/completions/strata.ps1",
}
"""Where each shell looks, below ``share``; PowerShell looks nowhere, its user's profile loads the file."""
OF_THE_LAB = "The lab is a package of its own: pip install 'strata[lab]'."


def main() -> int:
    """Writes all of it below the prefix that is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("prefix", type=Path)
    share = parser.parse_args().prefix / "share"
    for name, text in pages().items():
        put(share / "man" / "man1" / f"{name}.1", text)
    for shell, place in PLACES.items():
        put(share / place, completion.script(shell) + "\n")  # type: ignore[arg-type]
    return 0


def put(path: Path, text: str) -> None:
    """Readable by everybody, whatever the mask of whoever builds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o644)


def pages() -> dict[str, str]:
    """Each page by its name, in the order of the names."""
    assert set(PLACES) == set(get_args(completion.Shell))
    contexts = {ctx.command_path.replace(" ", "-"): ctx for ctx in every(typer.main.get_command(app), "strata", None)}
    return {name: page(contexts[name], sorted(contexts)) for name in sorted(contexts)}


def every(command: Any, name: str, parent: Any) -> Iterator[Any]:
    """The contexts of a command and of those below it, as if each had been called."""
    ctx = typer.Context(command, info_name=name, parent=parent, **command.context_settings)
    yield ctx
    for inner, one in getattr(command, "commands", {}).items():
        if not one.hidden:
            yield from every(one, inner, ctx)


def page(ctx: Any, names: list[str]) -> str:
    """One page as roff."""
    name = ctx.command_path.replace(" ", "-")
    said = paragraphs(ctx.command.help)
    settings = get_default_settings(manpage.Writer)
    settings.report_level = 5
    document = utils.new_document(name, settings)
    document += nodes.title("", name)
    document += nodes.subtitle("", first_sentence(said[0]))
    facts = {"manual_section": "1", "manual_group": "Strata's manual", "version": f"strata {__version__}"}
    document += nodes.docinfo("", nodes.date("", day()), *(fact(*pair) for pair in facts.items()))
    usage = " ".join((ctx.command_path, *ctx.command.collect_usage_pieces(ctx)))
    document += section("Synopsis", nodes.paragraph("", "", nodes.literal("", usage)))
    said += [OF_THE_LAB] if name.startswith("strata-lab") else []
    document += section("Description", *(paragraph(text) for text in said))
    for heading, rows in listed(ctx):
        if rows:
            document += section(heading, definitions(rows))
    if EXAMPLES.get(path_of(ctx)):
        lines = "\n\n".join(f"# {meaning}\n{line}" for line, meaning in EXAMPLES[path_of(ctx)])
        document += section("Examples", nodes.literal_block("", lines))
    document += section("Exit status", definitions([(str(code.value), code.short) for code in Exit]))
    document += section("See also", paragraph(", ".join(f"{other}(1)" for other in beside(name, names))))
    text = core.publish_from_doctree(document, writer=manpage.Writer(), settings=settings)
    return str(text.decode() if isinstance(text, bytes) else text).rstrip() + "\n"


def listed(ctx: Any) -> list[tuple[str, list[tuple[str, str]]]]:
    """The headings of the help with their rows; a group has its commands, too."""
    command = ctx.command
    if isinstance(command, HelpCommand):
        return command.sections(ctx)
    options = [record for one in command.get_params(ctx) if (record := one.get_help_record(ctx)) is not None]
    below = [(name, first_sentence(paragraphs(one.help)[0]) + ".") for name, one in command.commands.items()]
    return [("Options", options), ("Commands", below)]


def beside(name: str, names: list[str]) -> list[str]:
    """The page above and those below; beside a command of a group, its neighbours."""
    above = max((other for other in names if name.startswith(f"{other}-")), key=len, default="")
    below = [other for other in names if other.startswith(f"{name}-")]
    near = [other for other in names if above != "strata" and other.startswith(f"{above}-") and other != name]
    return [above, *near] if above and above != "strata" else [*([above] if above else []), *below]


def paragraphs(text: str) -> list[str]:
    """The help as paragraphs of one line each."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", inspect.cleandoc(text))]


def first_sentence(text: str) -> str:
    """What the page's name line says: up to the first full stop that ends a sentence, or a colon."""
    return re.split(r"(?<=\w)[.:](?:\s|$)", text)[0].replace("`", "")


def paragraph(text: str) -> nodes.paragraph:
    """Text in which `words` between backticks are literal."""
    parts = re.split(r"`([^`]+)`", text)
    return nodes.paragraph(
        "", "", *(nodes.literal("", p) if n % 2 else nodes.Text(p) for n, p in enumerate(parts) if p)
    )


def section(heading: str, *inside: Any) -> nodes.section:
    """A heading with what is below it."""
    return nodes.section("", nodes.title("", heading.capitalize()), *inside)


def definitions(rows: list[tuple[str, str]]) -> nodes.definition_list:
    """Words, each with its meaning."""
    made = nodes.definition_list()
    for words, meaning in rows:
        made += nodes.definition_list_item("", nodes.term("", words), nodes.definition("", paragraph(meaning or " ")))
    return made


def fact(name: str, value: str) -> nodes.field:
    """One line of what docutils calls docinfo, which a manual page has in its head and foot."""
    return nodes.field("", nodes.field_name("", name), nodes.field_body("", nodes.paragraph("", value)))


def day() -> str:
    """The date of the sources where a build names it, else today's."""
    return time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))


if __name__ == "__main__":
    raise SystemExit(main())
