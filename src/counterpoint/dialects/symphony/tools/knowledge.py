"""The tools for what is found again: knowledge, the vault, memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from counterpoint.core.model.documents import PassageFound, PassageQuery, Shelf
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.paging import PAGE, RESERVE, pages_of, sparse
from counterpoint.dialects.progress import watching
from counterpoint.dialects.symphony.words import Cursor
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.parameters import Progress
from counterpoint.protocol.tools import tool

Query = Annotated[str, Field(min_length=1, max_length=1_000, description="Any words")]
Place = Annotated[str, Field(min_length=1, max_length=1_000)]
More = Annotated[Cursor, Field(description="`next_cursor` of the page before")]
_MEMORY: Final = "data/memory"
_GLOBAL: Final = "_global"


@tool(reads=True)
def search_knowledge(
    call: Call,
    query: Query,
    top_k: Annotated[int, Field(ge=1, le=20, description="Most results")] = 5,
    min_score: Annotated[float, Field(ge=0, le=1, description="Least score")] = 0.3,
    cursor: More = "",
) -> Json:
    """Search the documents of this project; needs its vault configuration."""
    return _search_passages(call, "search_knowledge", "project", query, top_k, min_score, cursor)


@tool(reads=True)
def vault_retrieve(
    call: Call,
    query: Query,
    top_k: Annotated[int, Field(ge=1, le=50, description="Most results")] = 5,
    cursor: More = "",
) -> Json:
    """Search the Knowledge Vault, which all projects share."""
    return _search_passages(call, "vault_retrieve", "vault", query, top_k, 0.0, cursor)


@tool(reads=False)
def vault_update(
    call: Call,
    progress: Progress,
    path: Annotated[Place, Field(description="File, relative to the project root")],
) -> Json:
    """Read a file again into the Knowledge Vault."""
    taken = call.core.documents.take(path, watch=watching(progress))
    document = taken.document
    return {
        "path": document.path,
        "status": "unchanged" if taken.is_same else "indexed",
        "chunks": document.chunks,
        "sha256": document.sha256,
        "updated_at": document.updated_at,
    }


@tool(reads=False, destructive=True, idempotent=False)
def vault_delete(
    call: Call, path: Annotated[Place, Field(description="Path of the entry")]
) -> Json:
    """Remove a file from the Knowledge Vault."""
    gone = call.core.documents.drop(path)
    return {"path": gone.path, "status": "deleted", "chunks": gone.chunks}


@tool(reads=False)
def update_memory(
    call: Call,
    scope: Annotated[Literal["project", "global"], Field(description="How far it reaches")],
    filename: Annotated[str, Field(max_length=200, description="Like codebase-notes.md")],
    content: Annotated[
        str, Field(max_length=100_000, description="All of it, to 10,000 characters; empty: delete")
    ],
) -> Json:
    """Keep a file for later runs of your agent type; it replaces the one before."""
    settings = call.settings
    role = call.core.caller.actor.profile
    slug = settings.project_slug or call.core.project
    folder = f"{_MEMORY}/{slug if scope == 'project' else _GLOBAL}/{role}"
    if "/" in slug:
        raise InvalidInput(f"the project slug {slug!r} has a slash", hint="Mend --project-slug.")
    mirror = Path(settings.symphony_dir) if settings.symphony_dir else None
    if mirror is not None and not mirror.is_dir():
        raise InvalidInput(
            f"there is no folder {mirror}, where memory is to lie", hint="Mend --symphony-dir."
        )
    entry = call.core.notebooks.write(scope, role, filename, content, mirror, folder)
    return {
        "scope": scope,
        "filename": entry.name,
        "status": "saved" if content else "deleted",
        "characters": len(content),
        "version": entry.version,
        **sparse(path=f"{folder}/{filename}" if mirror else ""),
        "updated_at": entry.updated_at,
    }


def _search_passages(
    call: Call, name: str, shelf: Shelf, query: str, limit: int, least: float, cursor: str
) -> Json:
    pages = pages_of(call, cursor, name, query, limit, str(least))
    hits = call.core.documents.find(PassageQuery(query=query, limit=limit, least=least), shelf)
    # The score is what the least one is held against.
    hits = sorted(hits, key=lambda hit: -hit.fit.best)
    results, next_cursor = pages.rows(
        list(enumerate(hits, 1))[pages.at :],
        limit,
        lambda numbered: _present(numbered[1]),
        lambda numbered: numbered[0],
        budget=PAGE - RESERVE,
    )
    return {"results": results, **sparse(next_cursor=next_cursor), "note": DATA}


def _present(hit: PassageFound) -> dict[str, Json]:
    passage = hit.passage
    return {
        "text": passage.text,
        "path": passage.path,
        "score": hit.fit.best,
        "metadata": {
            "project": hit.project,
            "headings": list(passage.headings),
            "lines": [passage.first_line, passage.last_line],
            "words": hit.fit.words,
            "similarity": hit.fit.meaning,
        },
    }
