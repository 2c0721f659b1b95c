"""The tool `verify`: commands that this server runs, with signed receipts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, WithJsonSchema

from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.native.words import AnyToken, Argv, Id, Line, Words, present_receipt
from counterpoint.dialects.paging import PAGE, RESERVE
from counterpoint.dialects.progress import watching
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.parameters import Progress
from counterpoint.protocol.tools import tool

_SECONDS = 600
Seconds = Annotated[
    int, Field(ge=1, le=3600, description="For `command`"), WithJsonSchema({"type": "integer"})
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
    id: Annotated[Id, Field(description="Item")] = "",  # noqa: A002 -- the name that agents expect
    gates: Annotated[Words, Field(description="Only these")] = (),
    command: Annotated[Argv | None, Field(description="No shell")] = None,
    folder: Annotated[Line, Field(description="For `command`")] = "",
    timeout_seconds: Seconds = _SECONDS,
    token: AnyToken = None,
) -> Json:
    """Run an item's checks or a command here; keeps signed receipts."""
    check = _check(id, gates, command, folder, timeout_seconds)
    done = call.core.gates.verify(check, token, watching(progress))
    shown = done.receipts[:10]
    room = (PAGE - RESERVE) // max(1, len(shown)) - _A_RECEIPT
    return {
        "passed": done.passed,
        "receipts": [present_receipt(receipt, min(room, 2_000)) for receipt in shown],
        "note": DATA,
    }


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
