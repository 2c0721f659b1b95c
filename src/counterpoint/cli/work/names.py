"""How people name an item: by id, number or title; and completion in a shell.

`harbour-4`, `HARBOUR-004`, `4` and `#4` are one item, and so is any other name that it has, or a title's beginning that no
other title has, in any case. An id goes before a number, and a number before a title.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Literal

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from counterpoint.cli.context import open_here, require
from counterpoint.cli.output import flat
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import ItemFilter
from counterpoint.core.model.journal import Record
from counterpoint.core.model.lifecycles import CLOSED, UNCLOSED
from counterpoint.core.model.sessions import Session, SessionFilter
from counterpoint.core.model.work import Item
from counterpoint.kernel.entrances import entered
from counterpoint.kernel.errors import CounterpointError, InvalidInput, NotFound

_OFFERED: Final = 200
"""How many items a shell is offered, those that are not closed first."""
_LATEST: Final = 50
"""How many sessions, and how many records, a shell is offered, the latest."""
_PAGE: Final = 500
_MOST: Final = 20_000
"""How many items are looked through for a title."""
_NAMED: Final = 5


class ItemName(click.ParamType[str]):
    """An argument that names an item, or else; a shell completes it with the ids there are, and their titles."""

    name = "id"

    def __init__(
        self, *kinds: Literal["item", "session", "record"], takes_none: bool = False
    ) -> None:
        """Prepare. kinds: what may be named here; takes_none: whether the empty text stands for nothing."""
        self._named = kinds
        self._takes_none = takes_none

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return a name; an empty one, as of a variable that is not set, is refused where none would mean all there is."""
        if value.strip() or self._takes_none or ctx is None or param is None or not param.name:
            return value
        # Defaults are converted too, and stand for nothing; what has to be named is looked for, and not found.
        is_typed = ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
        if is_typed and not param.required:
            self.fail("it is empty. Name an id, or leave it out.", param, ctx)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return what a name may go on as; nothing where no ledger can be read."""
        del param
        with suppress(CounterpointError, click.ClickException):
            offered = _offered(ctx.params, self._named)
            return [
                CompletionItem(id_, help=flat(words))
                for id_, words in offered
                if id_.startswith(incomplete.lower())
            ]
        return []


class UsedWord(click.ParamType[str]):
    """An argument that a shell completes with the words of a sort that the project has."""

    name = "word"

    def __init__(self, sort: Literal["status", "label", "assignee"]) -> None:
        """Prepare. sort: what the words are used for."""
        self._sort = sort

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the words that begin so; nothing where no ledger can be read."""
        del param
        with suppress(CounterpointError, click.ClickException), _read(ctx.params) as core:
            return _beginning(core.overview.used_words()[self._sort], incomplete)
        return []


class OfItem(click.ParamType[str]):
    """An argument that a shell completes with what the item has that is named before it."""

    name = "word"

    def __init__(self, sort: Literal["gate", "move"]) -> None:
        """Prepare. sort: its gates, or the states that it may be moved to."""
        self._sort = sort

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return those that begin so; nothing without an item, or where no ledger can be read."""
        del param
        return _beginning(self._choices(ctx) or (), incomplete)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str | None:
        """Return which there are to choose from; None without an item, or where no ledger can be read."""
        del param
        words = self._choices(ctx) if ctx is not None else None
        return None if words is None else f"The item has: {', '.join(words) or 'none'}."

    def _choices(self, ctx: click.Context) -> Sequence[str] | None:
        # An option whose value is being typed keeps click from giving arguments their names.
        item_name = ctx.params.get("item") or ctx.params.get("name") or "".join(ctx.args[:1])
        with suppress(CounterpointError, click.ClickException), _read(ctx.params) as core:
            item = core.items.get(item_id(core, item_name))
            if self._sort == "move":
                return tuple(item.states.moves[item.status])
            return [gate.name for gate in core.overview.facets(item.id).gates]
        return None


STATUS: Final = UsedWord("status")
LABEL: Final = UsedWord("label")
ASSIGNEE: Final = UsedWord("assignee")
GATE: Final = OfItem("gate")
MOVE: Final = OfItem("move")
ITEM: Final = ItemName("item")
ITEM_OR_NONE: Final = ItemName("item", takes_none=True)
ANY: Final = ItemName("item", "session", "record")
HOLDER: Final = ItemName("item", "session")
SESSION: Final = ItemName("session")
BLOCKED: Final = ItemName("item", "record")


def _offered(
    params: dict[str, Any], kinds: Collection[Literal["item", "session", "record"]]
) -> list[tuple[str, str]]:
    """Return ids and what they are of: items that are not closed first, then the latest sessions and records."""
    with _read(params) as core:
        pairs = list[tuple[str, str]]()
        if "item" in kinds:
            first = core.overview.items(ItemFilter(category=UNCLOSED), 0, _OFFERED)
            closed = core.overview.items(ItemFilter(category=CLOSED), 0, _OFFERED - len(first))
            pairs += [(item.id, str(item.title)) for item in (*first, *closed)]
        if "session" in kinds:
            views = core.sessions.list(SessionFilter(), None, _LATEST)
            pairs += [
                (view.session.id, f"{view.session.agent}, {view.session.status}") for view in views
            ]
        if "record" in kinds:
            records = core.overview.rows(Record, latest=True, limit=_LATEST)
            pairs += [
                (record.id, f"{record.kind}: {record.title or record.body}") for record in records
            ]
        return pairs


def _beginning(words: Iterable[str], typed: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in words if word.startswith(typed)]


@contextmanager
def _read(params: dict[str, Any]) -> Generator[Core]:
    """Lend the core of the ledger that a command is about; the refusals of `require`."""
    app = open_here(db=params.get("db"), project=params.get("project"))
    try:
        require(app)
        # Titles are offered: whoever types is given them, and recorded as such where that is asked for.
        with entered("completion"):
            yield app.itself() if app.read_log is None else app.person(by_git_name=False)
    finally:
        app.close()


def session_id(core: Core, name: str) -> str:
    """Return the id of a session that there is; NotFound names the command that lists them."""
    if core.overview.find(Session, name) is None:
        raise NotFound(
            f"there is no session {name[:60]!r} in this project",
            hint="`counterpoint sessions list` shows the sessions that there are.",
        )
    return name


def item_id(core: Core, name: str) -> str:
    """Return the id of an item by what a person calls it; NotFound, InvalidInput if several are called so."""
    item = core.items.named(name)
    if item is not None:
        return item.id
    titled = _titled(core, name)
    if len(titled) > 1:
        titles = ", ".join(f"{item.id} ({item.title})" for item in titled[:_NAMED])
        more = "" if len(titled) <= _NAMED else f" and {len(titled) - _NAMED} more"
        raise InvalidInput(
            f"{len(titled)} items begin with {name!r}: {titles}{more}", hint="Name one by its id."
        )
    return titled[0].id if titled else core.items.get(name).id


def _titled(core: Core, name: str) -> list[Item]:
    """Return the items whose title begins so; the one whose title is just that, if there is one."""
    prefix, matches, after = " ".join(name.casefold().split()), list[Item](), 0
    while prefix and after < _MOST:
        page = core.overview.items(ItemFilter(), after, _PAGE)
        matches += [item for item in page if _folded(item).startswith(prefix)]
        if len(page) < _PAGE:
            break
        after = page[-1].number
    same = [item for item in matches if _folded(item) == prefix]
    return same if len(same) == 1 else matches


def _folded(item: Item) -> str:
    return " ".join(item.title.casefold().split())
