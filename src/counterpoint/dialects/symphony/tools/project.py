"""The tools of a project and of its knowledge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field
from typing_extensions import TypedDict

from counterpoint.core.model.documents import PassageFound, PassageQuery, Shelf
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.paging import PAGE, RESERVE, clip, pages_of, size_of, sparse
from counterpoint.dialects.progress import watching
from counterpoint.dialects.symphony.nouns import GateCommand, Policy, PolicyEdit
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.dialects.symphony.words import Cursor, Line, Lines, Text
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.parameters import Progress
from counterpoint.protocol.tools import tool

_THRESHOLDS: Final = {
    "lowLines": "low_lines",
    "highLines": "high_lines",
    "lowFiles": "low_files",
    "highFiles": "high_files",
}
_SHOWN: Final = 1_500


class GateSetting(TypedDict):
    """A command that is run on every change."""

    command: Annotated[Line, Field(description="Command to run")]
    label: Annotated[Line, Field(description="Human-readable name")]
    required: Annotated[bool, Field(description="Whether it must pass")]


@tool(reads=False, open_world=True)
def configure_project(
    call: Call,
    gates: Annotated[
        Annotated[tuple[GateSetting, ...], Field(max_length=50)] | None,
        Field(description="Commands the server runs on every change"),
    ] = None,
    sensitive_paths: Annotated[Lines | None, Field(description="Globs of sensitive files")] = None,
    risk_thresholds: Annotated[
        dict[str, int] | None, Field(description="lowLines, highLines, lowFiles, highFiles")
    ] = None,
    worker_instructions: Annotated[Text | None, Field(description="For workers")] = None,
    judge_instructions: Annotated[Text | None, Field(description="For judges")] = None,
) -> Json:
    """Configure the project; other settings stay."""
    instructions = {"worker": worker_instructions, "judge": judge_instructions}
    policy = call.core.use(Policies).edit(
        PolicyEdit(
            gates=None if gates is None else tuple(GateCommand(**gate) for gate in gates),
            sensitive_paths=sensitive_paths,
            thresholds=None if risk_thresholds is None else _parse(risk_thresholds),
            instructions={role: text for role, text in instructions.items() if text is not None},
        )
    )
    return _present_project(policy)


def _parse(thresholds: dict[str, int]) -> dict[str, int]:
    unknown = sorted(thresholds.keys() - _THRESHOLDS.keys())
    if unknown:
        raise InvalidInput(
            f"risk_thresholds: there is no {', '.join(name[:60] for name in unknown)}",
            hint=f"There are: {', '.join(_THRESHOLDS)}.",
        )
    return {_THRESHOLDS[name]: value for name, value in thresholds.items()}


def _present_project(policy: Policy) -> Json:
    answer = policy_json(policy)
    for name in ("worker_instructions", "judge_instructions"):
        answer[name] = clip(str(answer[name]), _SHOWN)
    if size_of(answer) > PAGE - RESERVE:
        return {
            **answer,
            "gates": len(policy.gates),
            "sensitive_paths": len(policy.sensitive_paths),
        }
    return answer


def policy_json(policy: Policy) -> dict[str, Json]:
    """Return what the project is configured with, whole, under the names of the parameters."""
    names = {core: parameter for parameter, core in _THRESHOLDS.items()}
    return {
        "gates": [
            {"command": gate.command, "label": gate.label, "required": gate.required}
            for gate in policy.gates
        ],
        "sensitive_paths": list(policy.sensitive_paths),
        "risk_thresholds": {names[name]: value for name, value in policy.thresholds.items()},
        "worker_instructions": policy.instructions.get("worker", ""),
        "judge_instructions": policy.instructions.get("judge", ""),
    }


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
        lambda numbered: _present_passage(numbered[1]),
        lambda numbered: numbered[0],
        budget=PAGE - RESERVE,
    )
    return {"results": results, **sparse(next_cursor=next_cursor), "note": DATA}


def _present_passage(hit: PassageFound) -> dict[str, Json]:
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
