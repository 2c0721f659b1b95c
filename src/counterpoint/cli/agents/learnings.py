"""Learnings at the command line: found, and judged by a person."""

from __future__ import annotations

import click

from counterpoint.cli.context import CommandContext, opened_context, places, reads
from counterpoint.cli.output import one_line
from counterpoint.dialects.symphony.nouns.learnings import Learning, LearningQuery
from counterpoint.dialects.symphony.verbs.learnings import Learnings
from counterpoint.kernel.canonical import Json


@click.group("learning")
def learning_command() -> None:
    """Find what agents have learned, and say what it is worth."""


@learning_command.command("find")
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True)
@reads
def find(context: CommandContext, query: str, limit: int) -> None:
    """List learnings that have a word of the query, best first."""
    found = context.core.use(Learnings).find(LearningQuery(query=query, limit=limit))
    if context.out.json:
        context.out.answer([{**_shape(one.learning), "score": one.score} for one in found])
        return
    rows = [
        (one.learning.record.id, _worth(one.learning), one_line(one.learning.pattern))
        for one in found
    ]
    context.out.table(("id", "worth", "says"), rows)


@learning_command.command("judge")
@click.argument("name", metavar="ID")
@click.option("--verified/--not-verified", default=None, help="Whether it was seen to be right.")
@click.option("--quality", type=click.IntRange(0, 100), help="What it is worth.")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
@places
def judge(
    name: str,
    verified: bool | None,
    quality: int | None,
    as_json: bool,
    db: str | None,
    project: str | None,
) -> None:
    """Say that a learning is right, or what it is worth: agents are shown the best ones first."""
    if verified is None and quality is None:
        raise click.UsageError("Say --verified, --not-verified or --quality N.")
    with opened_context(as_json=as_json, db=db, project=project) as context:
        learning = context.core.use(Learnings).judge(name, verified=verified, score=quality)
        if context.out.json:
            context.out.answer(_shape(learning))
        else:
            context.out.line(f"{name}: {_worth(learning)}")


def _worth(learning: Learning) -> str:
    return f"{learning.quality}{', verified' if learning.is_verified else ''}"


def _shape(learning: Learning) -> dict[str, Json]:
    return {
        "id": learning.record.id,
        "item": learning.record.item,
        "pattern": learning.pattern,
        "quality": learning.quality,
        "verified": learning.is_verified,
    }
