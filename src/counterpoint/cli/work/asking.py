"""Arguments of lists: an unknown value is refused with the known ones."""

from __future__ import annotations

from typing import Final, get_args

from counterpoint.cli.work.names import item_id
from counterpoint.core.coordinator import Core
from counterpoint.core.model import catalogue
from counterpoint.core.model.filters import ItemFilter
from counterpoint.core.model.journal import Record, RecordKind
from counterpoint.core.model.work import Item, Kind
from counterpoint.dialects.nouns import NOUNS
from counterpoint.dialects.unknown_words import unknown
from counterpoint.kernel.errors import NotFound

_SHOWN: Final = 30


def named_filter(core: Core, name: str, option: str) -> str:
    """Return the id of the item that a list is narrowed to, empty for none; InvalidInput for no such item."""
    if not name:
        return ""
    try:
        return item_id(core, name)
    except NotFound:
        roots = [root.id for root in core.overview.items(ItemFilter(parent=""), 0, _SHOWN)]
        raise unknown(option, name, roots, "ids such as") from None


def tree_top(core: Core, name: str) -> str:
    """Return the top of a tree by the name of anything in it; InvalidInput, with the trees there are."""
    if not name:
        return ""
    try:
        return core.items.get(item_id(core, name)).root
    except NotFound:
        raise unknown("--root", name, [root.id for root in core.overview.state().roots]) from None


def searchable_kinds() -> list[str]:
    """Return the kinds of what a search can find."""
    kinds: set[str] = {*get_args(Kind), *get_args(RecordKind)}
    kinds |= {
        noun.__name__.lower()
        for noun in (*catalogue.NOUNS, *NOUNS)
        if noun.searched is not None and noun not in {Item, Record}
    }
    return sorted(kinds)
