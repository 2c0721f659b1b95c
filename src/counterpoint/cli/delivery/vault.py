"""Documents at the command line: taken in, listed, taken out."""

from __future__ import annotations

from typing import Final

import click

from counterpoint.cli.context import CommandContext, opened_context, places, reads
from counterpoint.cli.output import output_for
from counterpoint.core.model.delivery.knowledge import Document, Shelf
from counterpoint.kernel.canonical import Json

_MOST: Final = 10_000
_OWN = click.option("--own", is_flag=True, help="Only for this project, not for all.")


@click.group("vault")
def vault_command() -> None:
    """Keep documents that agents find again."""


@vault_command.command("on")
@reads
def on(context: CommandContext) -> None:
    """Let this project keep documents of its own, which search_knowledge finds."""
    context.core.documents.configure({"enabled": True})
    if context.out.json:
        context.out.answer({"enabled": True})
    else:
        context.out.line(
            "This project keeps documents of its own: add them with `vault add --own`."
        )


@vault_command.command("add")
@click.argument("paths", metavar="PATH…", nargs=-1, required=True)
@_OWN
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
@places
def add(
    paths: tuple[str, ...], own: bool, as_json: bool, db: str | None, project: str | None
) -> None:
    """Take files in, or in anew; paths are relative to the project root."""
    with opened_context(as_json=as_json, db=db, project=project) as context:
        taken = [context.core.documents.take(path, _shelf(own=own)) for path in paths]
        out = output_for(json=as_json)
        if out.json:
            out.answer([{**_shown(one.document), "unchanged": one.is_same} for one in taken])
            return
        for one in taken:
            what = "is as it was" if one.is_same else f"{one.document.chunks} passages"
            out.line(f"{one.document.path}: {what}.")


@vault_command.command("list")
@_OWN
@reads
def list_(context: CommandContext, own: bool) -> None:
    """List the documents of this project."""
    found = context.core.documents.list(_shelf(own=own), limit=_MOST)
    if context.out.json:
        context.out.answer([_shown(one) for one in found])
    elif not found:
        context.out.aside("There is no document. Take some in with `counterpoint vault add PATH…`.")
    else:
        rows = [(one.path, str(one.chunks), str(one.size), one.updated_at) for one in found]
        context.out.table(("path", "passages", "bytes", "updated"), rows)


@vault_command.command("remove")
@click.argument("path")
@_OWN
@reads
def remove(context: CommandContext, path: str, own: bool) -> None:
    """Take a document out with all its passages."""
    gone = context.core.documents.drop(path, _shelf(own=own))
    if context.out.json:
        context.out.answer(_shown(gone))
    else:
        context.out.line(f"{gone.path} is gone: {gone.chunks} passages.")


def _shelf(*, own: bool) -> Shelf:
    return "project" if own else "vault"


def _shown(document: Document) -> dict[str, Json]:
    return {
        "path": document.path,
        "shelf": document.shelf,
        "passages": document.chunks,
        "bytes": document.size,
        "sha256": document.sha256,
        "updated_at": document.updated_at,
    }
