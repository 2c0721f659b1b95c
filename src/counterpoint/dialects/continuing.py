"""What a caller has begun or left, offered first in the words of any dialect.

The core says what that is (`overview.to_continue`). A dialect says how one session of it looks, and which of its
tools goes on there; what it has no words for it leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from counterpoint.core.model.answers import Continuation, News
from counterpoint.core.model.journal import Record
from counterpoint.core.model.sessions import Handoff
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.paging import clip
from counterpoint.kernel.acts import Phrases, say
from counterpoint.kernel.canonical import Json

CONTINUE: Final = "continue"
"""Under which an answer offers it, before all else."""
SHOWN: Final = 300
"""How many characters of a text it repeats."""
_MOST: Final = 5
MEANWHILE: Final = "meanwhile"
"""Under which an answer tells what others did with work of the caller."""
_MOST_NEWS: Final = 3


def list_resumable_work(
    call: Call,
    kind: str,
    present: Callable[[Continuation], Iterable[dict[str, Json]]],
    phrases: Phrases,
    *,
    with_lost: bool = True,
) -> dict[str, Json]:
    """Return what the caller has begun or left, and what others did with it, to stand first in an answer.

    Nothing if there is none. kind: what the dialect calls what it shows. phrases: its words for acts. with_lost: also what the caller
    holds no more.
    """
    continuations = call.core.overview.to_continue()
    entries = [entry for continuation in continuations for entry in present(continuation)]
    first: dict[str, Json] = {}
    if entries:
        first[CONTINUE] = {"note": DATA, kind: list[Json](entries[:_MOST])}
    live_items = [live for continuation in continuations for live in continuation.held]
    if news := present_news(call.core.claims.news(live_items, with_lost=with_lost), phrases):
        first[MEANWHILE] = news
    return first


def present_news(news: Iterable[News], phrases: Phrases) -> list[Json]:
    """Return what others did with work of the caller, with what comes next in the words of a dialect."""
    return [
        {
            "item": entry.item,
            "what": entry.kind,
            "text": clip(entry.text, SHOWN),
            "hint": say(entry.hint, phrases),
        }
        for entry in islice(news, _MOST_NEWS)
    ]


def describe_lost_claim(call: Call, phrases: Phrases, item: str = "") -> dict[str, Json]:
    """Return what ended a claim of the caller, to stand in the answer to a note; looked for only where something may have.

    item: what the note is about; without one, all that the caller held.
    """
    if item:
        noted = call.core.items.find(item)
        is_held = noted is not None and noted.category in {"active", "review"}
        if noted is None or (is_held and noted.assignee == call.core.caller.actor.name):
            return {}
    elif call.core.overview.held():
        return {}
    ended = [entry for entry in call.core.claims.news(()) if item in {"", entry.item}]
    return {MEANWHILE: present_news(ended, phrases), "note": DATA} if ended else {}


def next_call(tool: str, **arguments: Json) -> dict[str, Json]:
    """Return a call as one that is offered; `…` stands for the caller's own words."""
    return {"tool": tool, "arguments": arguments}


def present_left(entry: Record | Handoff | None, max_bytes: int = SHOWN) -> dict[str, Json] | None:
    """Return what was written down last about something that was begun; None if nothing was."""
    if entry is None:
        return None
    text = entry.body or entry.title if isinstance(entry, Record) else entry.summary
    kind = entry.kind if isinstance(entry, Record) else entry.action
    return {"kind": kind, "at": entry.created_at, "text": clip(text, max_bytes)}
