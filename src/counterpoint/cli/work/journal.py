"""What is written down about work: notes, and blockers that are resolved."""

from __future__ import annotations

import shlex
from typing import Any, Final, get_args

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.present import headline, present
from counterpoint.cli.trust.confirming import confirm_act
from counterpoint.cli.work.items import read_text
from counterpoint.cli.work.names import BLOCKED, ITEM, item_id
from counterpoint.cli.work.terminal_session import once, repeatable
from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.filters import Note
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.journal import NoteKind, Record

_ITEM_AND_TEXT: Final = 2
"""How many words `note` takes: the item, and the text."""


@click.command(
    "note",
    epilog=examples(
        "counterpoint note 'We keep SQLite' --kind decision",
        "counterpoint note 4 'Waits for the key' --kind blocker",
        "git log -1 | counterpoint note - --item 4",
    ),
)
@click.argument("words", nargs=-1, required=True, metavar="[ID] TEXT")
@click.option(
    "--kind",
    type=click.Choice(get_args(NoteKind)),
    default="comment",
    show_default=True,
    help="The kind of note.",
)
@click.option("--item", default="", metavar="ID", type=ITEM, help="The item that it is about.")
@click.option(
    "--title", default="", metavar="TEXT", help="Its title.  [default: the first line of the text]"
)
@click.option("--tag", "tags", multiple=True, metavar="WORD", help="Repeatable.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file it is about.")
@repeatable
@with_context
def note_command(
    context: CommandContext,
    *,
    words: tuple[str, ...],
    kind: NoteKind,
    item: str,
    key: str,
    **more: Any,
) -> None:
    """Write down a decision, finding, blocker or comment.

    `-` reads the text from standard input. An item with a blocker cannot be started until somebody runs
    `counterpoint unblock`.
    """
    core = context.core
    item, text = _item_and_text(words, item)
    about = item_id(core, item) if item else ""
    note = Note(kind=kind, body=read_text(text), item=about, **more)
    answer: Any = once(
        core,
        key,
        {"note": repr(note)},
        lambda: {"record": present(core.journal.append(note))},
    )
    record = answer["record"]
    where = f" on {record['item']}" if record["item"] else ""
    context.out.result(answer, f"{record['id']}: {record['kind']}{where}: {record['title']}")


def _item_and_text(words: tuple[str, ...], item: str) -> tuple[str, str]:
    """Return which item a note is about, empty for none, and its text; UsageError for more words than these two.

    item: that of `--item`, empty without it.
    """
    if len(words) == 1:
        return item, words[0]
    if len(words) == _ITEM_AND_TEXT and not item:
        return words[0], words[1]
    from counterpoint.cli.foreign_commands import ITEM_ID

    if ITEM_ID.fullmatch(words[0]) and not item:
        item, words = words[0], words[1:]
    line = " ".join(filter(None, ("counterpoint note", item, shlex.quote(" ".join(words)))))
    raise click.UsageError(f"Put the text in quotation marks: {line}")


@click.command("unblock", epilog=examples("counterpoint unblock 4 --reason 'There is paint now'"))
@click.argument("name", metavar="ID", type=BLOCKED)
@click.option(
    "--reason", default="resolved by a person", metavar="TEXT", help="Why; recorded in the ledger."
)
@with_context
def unblock_command(context: CommandContext, *, name: str, reason: str) -> int:
    """Resolve a blocker, or all blockers of an item.

    Exit code 1 if there is none.
    """
    core = context.core
    about = name
    if noun_of_id(name) is Record:
        records = [core.overview.find(Record, name) or core.journal.resolve(name, reason)]
    else:
        about = item_id(core, name)
        records = core.overview.open_blockers(about, limit=1_000)
    resolved = [_resolve(context, record, reason) for record in records]
    context.out.result(
        {"resolved": [present(record) for record in resolved]},
        *(f"{record.id} is resolved: {headline(record)}" for record in resolved),
        *([] if resolved else [f"{about} has no open blocker."]),
    )
    return 0 if resolved else 1


def _resolve(context: CommandContext, record: Record, reason: str) -> Record:
    proposed = ProposedAct(
        action="blocker.resolved",
        subject=record.item,
        decision={"record": record.id},
        shown={"record": f"{record.id}: {headline(record)}"},
    )
    core = context.core
    if record.status == "open":
        core = confirm_act(
            context,
            lambda: proposed,
            lambda core: core.journal.resolve(record.id, reason),
            reason,
            offers=False,
        )
    return core.journal.resolve(record.id, reason)
