"""The issues of a board at the command line: what people alone say of them."""

from __future__ import annotations

import click

from counterpoint.cli.context import CommandContext, reads
from counterpoint.core.model.filters import Edit
from counterpoint.core.rules.identifiers import spoken_of
from counterpoint.dialects.symphony.verbs.issues import Issues

NONE = "none"
SIZES = ("small", "medium", "large", NONE)


@click.group("issue")
def issue_command() -> None:
    """Say how large an issue is."""


@issue_command.command("size")
@click.argument("issue")
@click.argument("size", type=click.Choice(SIZES))
@reads
def size_of(context: CommandContext, issue: str, size: str) -> None:
    """Say how large an issue is, as agents read it; `none` takes the word back."""
    item = context.core.use(Issues).named(issue).id
    kept = None if size == NONE else size
    context.core.items.edit(item, Edit(attributes={"size": kept}))
    if context.out.json:
        context.out.answer({"issue": spoken_of(item), "size": kept})
    else:
        context.out.line(f"{spoken_of(item)}: {kept or 'no size'}")
