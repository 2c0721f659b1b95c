"""The tool `verify`: commands that this server runs, with signed receipts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, WithJsonSchema

from counterpoint.core.model.answers import Checked
from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check
from counterpoint.dialects.call import Call
from counterpoint.dialects.native.words import (
    AnyToken,
    Argv,
    ItemId,
    Line,
    Words,
    present_receipt,
    while_working,
)
from counterpoint.dialects.paging import PAGE, RESERVE
from counterpoint.dialects.progress import watching
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.parameters import Progress
from counterpoint.protocol.tools import tool

_SECONDS = 600
Seconds = Annotated[
    int,
    Field(ge=1, le=3600, description="Limit of `command`, at most 3600"),
    WithJsonSchema({"type": "integer"}),
]
_A_RECEIPT = 700
"""Bytes of a receipt without its output."""


@tool(
    reads=False,
    destructive=True,
    idempotent=False,
    open_world=True,
)
def verify(
    call: Call,
    progress: Progress,
    id: Annotated[ItemId, Field(description="Id of an item, to run its checks")] = "",  # noqa: A002 -- the name that agents expect
    gates: Annotated[Words, Field(description="Names of its gates, if not all")] = (),
    command: Annotated[
        Argv | None, Field(description="Instead: a program and its arguments, no shell")
    ] = None,
    folder: Annotated[
        Line, Field(description="Where `command` runs; default: the top of the worktree")
    ] = "",
    timeout_seconds: Seconds = _SECONDS,
    token: AnyToken = None,
) -> Json:
    """Run an item's checks or a command here; keeps signed receipts."""
    check = _check(id, gates, command, folder, timeout_seconds)
    done = call.core.gates.verify(check, token, watching(progress))
    receipts = done.receipts[:10]
    budget = (PAGE - RESERVE) // max(1, len(receipts)) - _A_RECEIPT
    return {
        "passed": done.passed,
        "receipts": [present_receipt(receipt, min(budget, 2_000)) for receipt in receipts],
        **_way_on(call, id, token, done),
    }


def _way_on(call: Call, item: str, token: int | None, done: Checked) -> dict[str, Json]:
    """Return the call that follows what passed, for whoever holds the item; nothing for others."""
    if not done.passed or not item:
        return {}
    tokens = {live.item.id: live.claim.token for live in call.core.overview.held()}
    facets = call.core.overview.facets(item)
    proof = tokens.get(facets.item.id, token)
    return {} if proof is None else {"next_call": while_working(facets, proof)}


def _check(
    item: str, gates: tuple[str, ...], command: tuple[str, ...] | None, folder: str, seconds: int
) -> Check:
    if command is not None:
        if gates:
            raise InvalidInput("give `gates` or `command`, not both", hint="Call twice.")
        order = Command(argv=command, folder=folder or ".", limit_seconds=seconds)
        return Check(item=item, command=order)
    if folder or seconds != _SECONDS:
        raise InvalidInput(
            "`folder` and `timeout_seconds` belong to a `command`", hint="Leave them out."
        )
    if not item:
        raise InvalidInput(
            "there is nothing to run", hint="Give `id` for an item's checks, or a `command`."
        )
    return Check(item=item, gates=gates)
