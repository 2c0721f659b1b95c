"""What happened: the entries of the ledger, as people read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.local_time import DAY_AND_SECOND, SECOND, local_time, time_heading
from counterpoint.cli.paging import page_output
from counterpoint.cli.present import present_entry
from counterpoint.cli.work.asking import named_filter
from counterpoint.cli.work.names import ITEM
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.access import Actor
from counterpoint.core.model.work import Item
from counterpoint.dialects.unknown_words import unknown
from counterpoint.kernel.canonical import Json, dump_any

_PAGE: Final = 200
_A_WHILE: Final = 60.0
"""Seconds that one wait for an entry lasts at most."""
_TELLING: Final = ("reason", "title", "outcome")
"""Facts that say most, the first that an entry has."""
_DECISIONS: Final = frozenset(
    {
        "claim.released",
        "configuration.trusted",
        "epoch.opened",
        "gate.waived",
        "policy.changed",
        "reads.switched",
        "repository.adopted",
        "text.redacted",
        "quorum.changed",
        "signers.changed",
    }
)
_VERDICTS: Final = (".approved", ".rejected")
_LOOKED_AT: Final = 2_000
"""Of how many entries the actions are told to whoever named one that there is not."""


@click.command(
    "log",
    epilog=examples(
        "counterpoint log",
        "counterpoint log --item 4",
        "counterpoint log --action task.finished --json",
        "counterpoint log --follow",
    ),
)
@click.option(
    "--item", metavar="ID", default="", type=ITEM, help="Only what happened to this item."
)
@click.option(
    "--action", metavar="NAME", default="", help="Only this action, such as task.started."
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=30,
    show_default=True,
    help="How many at most.",
)
@click.option("--follow", "-f", is_flag=True, help="Keep printing new entries until Ctrl-C.")
@click.option("--no-pager", is_flag=True, help="Print it all at once.")
@click.option(
    "--long", is_flag=True, help="Show full times, all facts, and the principal behind each name."
)
@with_context
def log_command(
    context: CommandContext,
    *,
    item: str,
    action: str,
    limit: int,
    follow: bool,
    no_pager: bool,
    long: bool,
) -> None:
    """Show what happened, by whom and when.

    One line for each entry, the latest last: number, time, actor, action, and the item with its title.
    """
    core = context.core
    about = named_filter(core, item, "--item")
    latest = core.audit.log(subject=about, action=action, limit=limit)
    entries = latest[::-1]
    if action and not entries and not follow:
        _refuse_action(core, action)
    lines = Lines(context, is_long=long)
    if not follow:
        with page_output(is_wanted=not (no_pager or context.out.json)):
            lines.show(entries)
        return
    for entry in entries:
        lines.say(entry)
    last = entries[-1].sequence if entries else core.feed.last()
    for entry in _coming(context, last, item=about, action=action):
        lines.say(entry)


def _refuse_action(core: Core, action: str) -> None:
    """Raise InvalidInput for an action that none of the latest entries has, with those that they have."""
    actions = {entry.action for entry in core.audit.log(subject="", action="", limit=_LOOKED_AT)}
    if action not in actions:
        raise unknown("--action", action, actions)


class Lines:
    """Entries as lines; the titles of items are looked up once."""

    def __init__(self, context: CommandContext, *, is_long: bool) -> None:
        self._out = context.out
        self._core = context.core
        self._long = is_long
        self._titles: dict[str, str] = {}
        owners = Counter(key.owner for key in context.core.people.list())
        self._shared = frozenset(name for name, count in owners.items() if count > 1)

    def show(self, entries: list[Entry]) -> None:
        """Say entries as a table."""
        headings = (
            "#",
            time_heading("when"),
            "who",
            "what",
            "about",
            *(["facts"] if self._long else []),
        )
        self._out.rows(
            {"entries": [self._entry(entry) for entry in entries]},
            headings,
            [self.row(entry) for entry in entries],
            nothing="Nothing happened yet that fits.",
        )

    def say(self, entry: Entry) -> None:
        """Say one entry of a stream."""
        if self._out.json:
            self._out.answer_line(self._entry(entry))
            return
        self._out.line("  ".join(filter(None, self.row(entry))))

    def _entry(self, entry: Entry) -> dict[str, Json]:
        return {**present_entry(entry), "title": self._title(entry.subject)}

    def row(self, entry: Entry) -> tuple[str, ...]:
        """Return the cells of one entry: its number, when, who, what, about what; of the long form the facts too."""
        title = self._title(entry.subject)
        # Own work that was judged, where the project lets people do so.
        own = "(self)" if entry.facts.get("independence") == "self" else ""
        about = " ".join(filter(None, (entry.subject, title, own)))
        if self._long:
            facts = _facts_of(entry)
            return (
                str(entry.sequence),
                local_time(entry.time, SECOND),
                _who(entry),
                entry.action,
                about,
                facts,
            )
        text = ": ".join(filter(None, (about, _said(entry, title))))
        return (
            str(entry.sequence),
            local_time(entry.time, DAY_AND_SECOND),
            _by(entry, self._shared),
            entry.action,
            text,
        )

    def _title(self, subject: str) -> str:
        """Return the title of the item that an entry is about; empty for anything else."""
        if subject not in self._titles:
            item = self._core.overview.find(Item, subject) if subject else None
            self._titles[subject] = item.title if item else ""
        return self._titles[subject]


def _by(entry: Entry, shared: frozenset[str]) -> str:
    """Return a name, with what tells its bearer from others of that name; of a person's decision whether it was signed.

    shared: the names that several people's keys have.
    """
    actor, principal = entry.actor, entry.actor.principal
    if actor.kind == "human":
        if principal is not None and principal.strength == "person":
            return _with_id(actor) if actor.name in shared else actor.name
        return f"{actor.name}, unconfirmed" if _is_decision(entry.action) else actor.name
    return _with_id(actor)


def _with_id(actor: Actor) -> str:
    return (
        f"{actor.name} {actor.principal.short.partition(' ')[2]}" if actor.principal else actor.name
    )


def _is_decision(action: str) -> bool:
    """Return whether an action is one that only people take, and sign where they have a key."""
    return action in _DECISIONS or action.endswith(_VERDICTS)


def _who(entry: Entry) -> str:
    actor = entry.actor
    name = f"{actor.name} ({actor.profile})" if actor.profile else actor.name
    return f"{name}, {actor.principal.short}" if actor.principal else name


def _said(entry: Entry, title: str) -> str:
    """Return what somebody wrote in an entry, or else how something ended; empty for neither."""
    texts = (entry.facts.get(name) for name in _TELLING)
    words = next((word for word in texts if isinstance(word, str) and word != title), "")
    return " ".join(words.split())


def _facts_of(entry: Entry) -> str:
    words = (f"{name}={_word(value)}" for name, value in entry.facts.items())
    return " ".join(" ".join(words).split())


def _word(value: Json) -> str:
    if isinstance(value, str):
        return value
    return dump_any(value)


def _coming(context: CommandContext, last: int, *, item: str, action: str) -> Iterator[Entry]:
    """Return entries as they are appended, for ever."""
    while True:
        for entry in context.core.feed.entries(last, _PAGE, _A_WHILE):
            last = entry.sequence
            if item in {"", entry.subject} and action in {"", entry.action}:
                yield entry
