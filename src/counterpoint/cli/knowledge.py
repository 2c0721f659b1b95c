"""What agents find again: learnings that people judge, documents they keep."""

from __future__ import annotations

from typing import Final

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import Group, examples
from counterpoint.cli.local_time import local_time, time_heading
from counterpoint.cli.output import one_line
from counterpoint.core.model.documents import Document, Shelf, StoredDocument
from counterpoint.dialects.symphony.nouns import Learning, LearningQuery
from counterpoint.dialects.symphony.verbs.learnings import Learnings
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.plurals import counted

_MOST: Final = 10_000
_OWN = click.option("--own", is_flag=True, help="For this project only.")


@click.group("learning", cls=Group)
def learning_command() -> None:
    """Find and judge what agents have learned."""


@learning_command.command("find", epilog=examples("counterpoint learning find 'time zones'"))
@click.argument("query")
@click.option(
    "--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="How many at most."
)
@with_context
def find(context: CommandContext, query: str, limit: int) -> None:
    """List learnings that match a word of the query, best first."""
    hits = context.core.use(Learnings).find(LearningQuery(query=query, limit=limit))
    context.out.rows(
        [{**_learning(hit.learning), "score": hit.score} for hit in hits],
        ("id", "worth", "says"),
        [
            (hit.learning.record.id, _worth(hit.learning), one_line(hit.learning.pattern))
            for hit in hits
        ],
    )


@learning_command.command(
    "judge", epilog=examples("counterpoint learning judge l-1 --verified --quality 80")
)
@click.argument("name", metavar="ID")
@click.option("--verified/--not-verified", default=None, help="Whether somebody confirmed it.")
@click.option("--quality", type=click.IntRange(0, 100), help="How useful it is.")
@with_context
def judge(
    context: CommandContext, name: str, *, verified: bool | None, quality: int | None
) -> None:
    """Rate a learning: agents see the best ones first."""
    if verified is None and quality is None:
        raise click.UsageError("Say --verified, --not-verified or --quality N.")
    learning = context.core.use(Learnings).judge(name, verified=verified, score=quality)
    context.out.result(_learning(learning), f"{name}: {_worth(learning)}")


def _worth(learning: Learning) -> str:
    return f"{learning.quality}{', verified' if learning.is_verified else ''}"


def _learning(learning: Learning) -> dict[str, Json]:
    return {
        "id": learning.record.id,
        "item": learning.record.item,
        "pattern": learning.pattern,
        "quality": learning.quality,
        "verified": learning.is_verified,
    }


@click.group("vault", cls=Group)
def vault_command() -> None:
    """Keep documents that agents find again."""


@vault_command.command("on", epilog=examples("counterpoint vault on"))
@with_context
def on(context: CommandContext) -> None:
    """Turn on documents of this project's own, which search_knowledge finds."""
    context.core.documents.configure({"enabled": True})
    context.out.result(
        {"enabled": True},
        "This project keeps documents of its own: add them with `vault add --own`.",
    )


@vault_command.command("add", epilog=examples("counterpoint vault add docs/*.md"))
@click.argument("paths", metavar="PATH…", nargs=-1, required=True)
@_OWN
@with_context
def add(context: CommandContext, paths: tuple[str, ...], *, own: bool) -> None:
    """Add files, or update them; paths are relative to the project root."""
    taken = list[StoredDocument]()
    with context.out.counting("Reading documents") as count:
        for number, path in enumerate(paths, 1):
            taken.append(context.core.documents.take(path, _shelf(own=own)))
            count(number)
    context.out.result(
        [{**_document(stored.document), "unchanged": stored.is_same} for stored in taken],
        *(
            f"{stored.document.path}:"
            f" {'is as it was' if stored.is_same else counted(stored.document.chunks, 'passage')}."
            for stored in taken
        ),
    )


@vault_command.command("list", epilog=examples("counterpoint vault list"))
@_OWN
@with_context
def list_(context: CommandContext, *, own: bool) -> None:
    """List the documents of this project."""
    documents = context.core.documents.list(_shelf(own=own), limit=_MOST)
    context.out.rows(
        [_document(document) for document in documents],
        ("path", "passages", "bytes", time_heading("updated")),
        [
            (
                document.path,
                str(document.chunks),
                str(document.size),
                local_time(document.updated_at),
            )
            for document in documents
        ],
        aside="There is no document. Take some in with `counterpoint vault add PATH…`.",
    )


@vault_command.command("remove", epilog=examples("counterpoint vault remove docs/old.md"))
@click.argument("path")
@_OWN
@with_context
def remove(context: CommandContext, path: str, *, own: bool) -> None:
    """Remove a document with all its passages."""
    gone = context.core.documents.drop(path, _shelf(own=own))
    context.out.result(_document(gone), f"{gone.path} is gone: {counted(gone.chunks, 'passage')}.")


def _shelf(*, own: bool) -> Shelf:
    return "project" if own else "vault"


def _document(document: Document) -> dict[str, Json]:
    return {
        "path": document.path,
        "shelf": document.shelf,
        "passages": document.chunks,
        "bytes": document.size,
        "sha256": document.sha256,
        "updated_at": document.updated_at,
    }
