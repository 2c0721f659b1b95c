"""The tool `note`: writing down, and resolving blockers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import NoteKind
from counterpoint.dialects.call import Call
from counterpoint.dialects.continuing import describe_lost_claim
from counterpoint.dialects.native.envelope import PHRASES
from counterpoint.dialects.native.words import (
    AnyToken,
    Id,
    ItemId,
    Lines,
    Text,
    Title,
    Words,
    present_record,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.tools import tool


@tool(reads=False, idempotent=False)
def note(
    call: Call,
    kind: Annotated[NoteKind, Field(description="blocker: its item waits until it is resolved")],
    text: Annotated[Text, Field(description="What to write; with `resolves`, how it was resolved")],
    title: Annotated[Title, Field(description="Short title")] = "",
    id: Annotated[ItemId, Field(description="Id of the item it is about")] = "",  # noqa: A002 -- the name that agents expect
    token: AnyToken = None,
    tags: Annotated[Words, Field(description="Words to find it by")] = (),
    files: Annotated[Lines, Field(description="Files it is about")] = (),
    resolves: Annotated[Id, Field(description="Id of a blocker that this ends")] = "",
) -> Json:
    """Write down a decision, finding, learning, blocker, …; or resolve a blocker."""
    if resolves:
        if kind != "blocker" or title or id or tags or files or token is not None:
            raise InvalidInput(
                "a resolution takes `resolves`, kind `blocker` and `text`, nothing else",
                hint="Write another note for the rest.",
            )
        return {"record": present_record(call.core.journal.resolve(resolves, text))}
    written = Note(kind=kind, body=text, title=title, item=id, tags=tags, files=files)
    record = call.core.journal.append(written, token)
    return {"record": present_record(record), **describe_lost_claim(call, PHRASES, record.item)}
