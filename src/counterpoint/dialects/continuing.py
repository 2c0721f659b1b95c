"""What a caller has begun or left, offered first in the words of any dialect.

The core says what that is (`overview.to_continue`). A dialect says how one session of it looks, and which of its
tools goes on there; what it has no words for it leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from counterpoint.core.model.answers import Continuation
from counterpoint.core.model.journal import Record
from counterpoint.core.model.sessions import Handoff
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.paging import clip
from counterpoint.kernel.canonical import Json

CONTINUE: Final = "continue"
"""Under which an answer offers it, before all else."""
SHOWN: Final = 300
"""How many characters of a text it repeats."""
_MOST: Final = 5


def offered(
    call: Call, kind: str, present: Callable[[Continuation], Iterable[dict[str, Json]]]
) -> dict[str, Json]:
    """Return what the caller has begun or left, to stand first in an answer; nothing if there is none.

    kind: what the dialect calls what it shows.
    """
    entries = [one for begun in call.core.overview.to_continue() for one in present(begun)]
    return {CONTINUE: {"note": DATA, kind: list[Json](entries[:_MOST])}} if entries else {}


def next_call(tool: str, **arguments: Json) -> dict[str, Json]:
    """Return a call as one that is offered; `…` stands for the caller's own words."""
    return {"tool": tool, "arguments": arguments}


def present_left(left: Record | Handoff | None, room: int = SHOWN) -> dict[str, Json] | None:
    """Return what was written down last about something that was begun; None if nothing was."""
    if left is None:
        return None
    text = left.body or left.title if isinstance(left, Record) else left.summary
    kind = left.kind if isinstance(left, Record) else left.action
    return {"kind": kind, "at": left.created_at, "text": clip(text, room)}
