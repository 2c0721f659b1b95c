"""Resources, read by address, and prompts, picked by a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from counterpoint.core.rules import outline
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.native.tools.overview import BYTES_A_TOKEN, briefing
from counterpoint.dialects.native.tools.show import present_entry, show
from counterpoint.dialects.native.words import Id, item_id
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.errors import NotFound
from counterpoint.protocol.resources import prompt, resource

_JSON = "application/json"
_LATEST = 30
_TOKENS = 1500


@resource("counterpoint://brief", mime=_JSON)
def brief(call: Call) -> str:
    """Where the caller is and what matters now."""
    return dump_any(briefing(call, "", _TOKENS * BYTES_A_TOKEN))


@resource("counterpoint://item/{id}", mime=_JSON)
def item(call: Call, id: str) -> str:  # noqa: A002 -- the variable of the address
    """One item with all that hangs on it."""
    return _shown(call, item_id(call, id))


@resource("counterpoint://phase/{id}", mime=_JSON)
def phase(call: Call, id: str) -> str:  # noqa: A002 -- the variable of the address
    """One phase with its contract, gates and tasks."""
    return _shown(call, item_id(call, id), include=("children",))


@resource("counterpoint://plan/{id}")
def plan(call: Call, id: str) -> str:  # noqa: A002 -- the variable of the address
    """An item and all below it as a Markdown plan."""
    return call.core.overview.markdown(item_id(call, id))


@resource("counterpoint://memory", mime=_JSON)
def memory(call: Call) -> str:
    """What the caller's role remembers from earlier runs, the newest first."""
    role = call.core.caller.actor.profile
    offered = call.core.notebooks.offered(role)
    return dump_any(
        {
            "role": role,
            "note": DATA,
            "files": [
                {
                    "name": page.name,
                    "scope": page.scope,
                    "updated_at": page.updated_at,
                    "content": page.content,
                }
                for page in offered.pages
            ],
            "left_out": [page.name for page in offered.left_out],
        }
    )


@resource("counterpoint://ledger", mime=_JSON)
def ledger(call: Call) -> str:
    """The latest entries of the ledger, the last one first."""
    entries = call.core.audit.log(limit=_LATEST)
    return dump_any({"entries": [present_entry(entry) for entry in entries]})


@resource("counterpoint://ledger/{sequence}", mime=_JSON)
def ledger_entry(call: Call, sequence: str) -> str:
    """One entry of the ledger."""
    if not sequence.isdecimal():
        raise NotFound(f"there is no entry {sequence[:20]!r}", hint="Entries count from 0.")
    return _shown(call, f"#{sequence}")


@resource("counterpoint://help/plan", mime="text/plain")
def help_plan(call: Call) -> str:
    """How a plan is written in Markdown."""
    del call
    return outline.__doc__ or ""


def watch(call: Call, position: int | None, seconds: float) -> tuple[int, list[str]]:
    """Wait for entries; answer the last one's sequence and the documents that they changed."""
    if position is None:
        return call.core.feed.last(), []
    entries = call.core.feed.entries(position, timeout=seconds)
    feed = call.core.feed
    changed = [uri for entry in entries for uri in _changed(entry.sequence, feed.concerned(entry))]
    return (entries[-1].sequence if entries else position), changed


def _changed(sequence: int, items: tuple[str, ...]) -> Iterator[str]:
    """Return the addresses of what an entry is seen in."""
    yield "counterpoint://ledger"
    yield f"counterpoint://ledger/{sequence}"
    yield "counterpoint://brief"
    for touched in items:
        for kind in ("item", "phase", "plan"):
            yield f"counterpoint://{kind}/{touched}"


def _shown(call: Call, name: str, **arguments: Json) -> str:
    return dump_any(show.function(call, name, **arguments))


@prompt()
def start_work(
    call: Call, item: Annotated[Id, Field(description="Item id; default: the next ready one")] = ""
) -> str:
    """Take up a task and carry it through."""
    del call
    take = f"Call `start` with id {item}." if item else "Call `next` with claim true."
    return (
        f"1. Call `brief`{f' with item {item}' if item else ''} and read the last handoff, decisions "
        f"and learnings.\n2. {take} Keep the `token` of the answer.\n"
        "3. Do only what the item asks for, inside its areas. Write decisions, findings and "
        "blockers down with `note`.\n"
        "4. Call `verify` with the id and the token until every check passes.\n"
        "5. Call `finish` with the token, the outcome, a summary and the numbers of the acceptance "
        "sentences that are true now.\n6. Go on with `next`, or leave with `handoff`."
    )


@prompt()
def hand_off(call: Call) -> str:
    """Leave the work so that another session can go on."""
    del call
    return (
        "1. Write what others must know with `note`: decisions, learnings, blockers.\n"
        "2. Call `handoff` with action `pause` if this session keeps its claims, or `end` to give "
        "them back. Say in `summary` where things stand, in `next_steps` what to do first, in "
        "`blockers` what is in the way, and in `context` what cannot be seen in the code."
    )


@prompt()
def review(call: Call, item: Annotated[Id, Field(description="Item id")]) -> str:
    """Judge what another session has handed in."""
    del call
    return (
        f"1. Call `show` with id {item} and include submissions, outcomes and receipts.\n"
        "2. Look at the submitted file or the commit itself, against each acceptance sentence.\n"
        f"3. Call `verify` with id {item} if a check looks old.\n"
        f"4. Call `review` with id {item}, verdict approve or reject, the reason, the hash or commit "
        "that you looked at as `subject`, and for a rejection the `fixes`."
    )
