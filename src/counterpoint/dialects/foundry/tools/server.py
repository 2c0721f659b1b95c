"""The tools `health`, `server` and `provider`."""

from __future__ import annotations

import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, cast

import orjson
from pydantic import Field

from counterpoint import __version__
from counterpoint.core.model.models import DEFAULT_TIMEOUT, Answer, Provider, Stop, make_question
from counterpoint.dialects.arguments import INTEGER, NUMBER, TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import PHRASES, page, present
from counterpoint.dialects.foundry.environment.operations import Condition, Environment
from counterpoint.dialects.foundry.models.environment import (
    Dependency,
    Grade,
    capabilities,
    overall,
)
from counterpoint.dialects.foundry.tools import shown as models
from counterpoint.dialects.foundry.tools.runs import configured_of, session_defaults
from counterpoint.dialects.foundry.tools.shown import standing_of
from counterpoint.dialects.foundry.words import Cursor, LongLimit, Name
from counterpoint.dialects.paging import PAGE, RESERVE, clip, pages_of, part_of_text, size_of
from counterpoint.dialects.progress import watching
from counterpoint.dialects.scoping import read_tools
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, NotFound
from counterpoint.protocol.actions import ActionTool, action, of_actions
from counterpoint.protocol.parameters import KEY, Progress
from counterpoint.protocol.tools import Tool

_SAID: Final[dict[Grade, str]] = {
    "healthy": "All is well",
    "degraded": "It works, but not all of it",
    "unhealthy": "It cannot work",
}


@action(reads=True, plain=True)
def liveness(_call: Call) -> Json:
    """It answers."""
    return present(_condition("healthy", "The server is alive"))


@action(reads=True)
def readiness(call: Call) -> Json:
    """Ledger, specs folder, disk."""
    return present(_graded(call.core.use(Condition).readiness()))


@action(reads=True)
def check(
    call: Call,
    *,
    include_details: Annotated[bool, Field(description="With each dependency")] = True,
) -> Json:
    """Also git and AI providers."""
    dependencies = call.core.use(Condition).everything()
    return present(_counted(dependencies) if include_details else _shortly(dependencies))


health = of_actions("health", "Check the server's health.", (liveness, readiness, check))


def unopened(tool: Tool[Call], refusal: CounterpointError) -> Json:
    """Return the health of a server whose ledger cannot be opened; raise the refusal for any other tool."""
    if tool.name != health.name:
        raise refusal
    words = f"{refusal.message}. {refusal.hint_in(PHRASES)}"
    ledger = Dependency(name="ledger", grade="unhealthy", message=words)
    return present(_counted([ledger]))


def _counted(dependencies: Sequence[Dependency]) -> dict[str, Json]:
    counts = Counter(dependency.grade for dependency in dependencies)
    grades: tuple[Grade, ...] = ("unhealthy", "degraded", "healthy")
    return {
        **_graded(dependencies),
        "details": {f"{grade}_count": counts[grade] for grade in grades},
    }


def _graded(dependencies: Sequence[Dependency]) -> dict[str, Json]:
    return {
        **_shortly(dependencies),
        "dependencies": [_dependency(dependency) for dependency in dependencies],
    }


def _shortly(dependencies: Sequence[Dependency]) -> dict[str, Json]:
    grade = overall(dependencies)
    return _condition(grade, _SAID[grade])


def _condition(grade: Grade, message: str) -> dict[str, Json]:
    return {
        "status": grade,
        "is_healthy": grade != "unhealthy",
        "timestamp": round(time.time(), 3),
        "message": message,
    }


def _dependency(dependency: Dependency) -> Json:
    return {
        "name": dependency.name,
        "healthy": dependency.grade != "unhealthy",
        "status": dependency.grade,
        "message": dependency.message,
        "latency_ms": dependency.latency_ms,
        "details": dict(dependency.details),
    }


Listed = Callable[[], Sequence[Tool[Call]]]
"""Answers every tool of the surface, in the order of its list."""

_VERSION: Final = "1.0.0"
"""Of the contract of each tool."""
_CATEGORIES: Final = {
    **dict.fromkeys(("spec", "authoring", "lifecycle", "plan"), "specs"),
    **dict.fromkeys(("task", "verification", "journal"), "tasks"),
    **dict.fromkeys(("review", "provider", "research"), "ai"),
}
_OTHERS: Final = "server"
_BYTES_A_TOKEN: Final = 4


@action(reads=True, name="capabilities", plain=True)
def present_capabilities(call: Call) -> Json:
    """What it can do."""
    configured = configured_of(call)
    terms = configured.terms()
    holdings: dict[str, Json] = {
        "posture_profile": terms.posture,
        "security": {
            "role": configured.role,
            "allow_lock_bypass": terms.may_bypass,
            "allow_gate_waiver": terms.may_waive,
            "enforce_required_phase_gates": True,
        },
        "session_defaults": session_defaults(terms),
    }
    return present(capabilities(__version__, holdings))


@action(
    reads=True,
    hidden=["include_llm", "include_workflow", "include_workspace", "include_capabilities"],
)
def context(
    call: Call,
    *,
    include_llm: Annotated[bool, Field(description="With providers")] = True,
    include_workflow: Annotated[bool, Field(description="With git settings")] = True,
    include_workspace: Annotated[bool, Field(description="With folders")] = True,
    include_capabilities: Annotated[bool, Field(description="With capabilities")] = True,
) -> Json:
    """Where it works."""
    environment = call.core.use(Environment)
    log_level = logging.getLevelName(logging.getLogger().getEffectiveLevel())
    data: dict[str, Json] = {
        "server": {"name": "counterpoint-foundry", "version": __version__, "log_level": log_level},
        "paths": {"specs_dir": environment.specs() or None, "research_dir": None},
    }
    if include_workspace:
        data["workspace"] = {"roots": list(environment.roots())}
    if include_workflow:
        data["workflow"] = {"git": environment.config()[0]["git"]}
    if include_llm:
        data["llm_status"] = models.llm_status(call)
    if include_capabilities:
        data["capabilities"] = capabilities(__version__)
    return present(data)


@action(reads=True, plain=True)
def llm_status(call: Call) -> Json:
    """AI providers."""
    return present({"llm_status": models.llm_status(call)})


def server_of(listed: Listed) -> ActionTool[Call]:
    """Return the tool that tells of these tools and of itself."""

    @action(reads=True, plain=True)
    def tools(
        call: Call,
        category: Annotated[
            str, Field(max_length=100, description="specs, tasks, ai or server"), TEXT
        ] = "",
        tag: Annotated[str, Field(max_length=100, description="Such as reads, writes"), TEXT] = "",
        *,
        include_deprecated: Annotated[bool, Field(description="Deprecated too")] = False,
        limit: LongLimit = 100,
        cursor: Cursor = "",
    ) -> Json:
        """Tools and actions."""
        every = _open(call, listed)
        matches = [tool for tool in every if _fits(tool, category, tag)]
        filters: dict[str, Json] = {
            "category": category or None,
            "tag": tag or None,
            "include_deprecated": include_deprecated,
        }
        pages = pages_of(call, cursor, "tools", filters)
        rows = list(enumerate(matches))[pages.at :]
        lines, further = pages.rows(rows, limit, lambda row: _entry(row[1]), lambda row: row[0] + 1)
        size = sum(len(orjson.dumps(tool.listed())) for tool in every)
        return present(
            {
                "tools": lines,
                "categories": sorted({_category(tool) for tool in every}),
                "filters_applied": filters,
            },
            pagination=page(further, len(lines), len(matches)),
            telemetry={"manifest_tokens": size // _BYTES_A_TOKEN},
        )

    @action(reads=True)
    def schema(call: Call, tool_name: Name, limit: LongLimit = 100, cursor: Cursor = "") -> Json:
        """Parameters of each action."""
        tool = next(
            (candidate for candidate in _open(call, listed) if candidate.name == tool_name), None
        )
        if tool is None:
            tool_names = ", ".join(candidate.name for candidate in _open(call, listed))
            raise NotFound(f"there is no tool {tool_name[:60]!r}", hint=f"There are: {tool_names}.")
        pages = pages_of(call, cursor, "schema", tool_name)
        rows = list(enumerate(tool.parts))[pages.at :]
        bytes_left = 9_000
        lines, further = pages.rows(
            rows, limit, lambda row: _whole(row[1]), lambda row: row[0] + 1, bytes_left
        )
        whole = {**_entry(tool), "actions": lines}
        return present(whole, pagination=page(further, len(lines), len(tool.parts)))

    actions = (tools, schema, present_capabilities, context, llm_status)
    return of_actions("server", "What this server offers.", actions)


def _open(call: Call, listed: Listed) -> list[Tool[Call]]:
    """Return the tools that are open to the caller's mode and in the scope of his connection."""
    every, scope = list(listed()), call.settings.tool_scope
    if scope:
        names = [tool.name for tool in every]
        opened = read_tools(Path(scope), {"": names, "any": names}, "any")
        every = [tool for tool in every if tool.name in opened]
    if not call.settings.is_read_only:
        return every
    narrowed = (tool.narrowed(lambda part: part.reads) for tool in every)
    return [tool for tool in narrowed if tool is not None]


def _category(tool: Tool[Call]) -> str:
    return _CATEGORIES.get(tool.name, _OTHERS)


def _tool_tags(tool: Tool[Call]) -> list[Json]:
    does = {"reads" if part.reads else "writes" for part in tool.parts}
    return [_category(tool), *sorted(does)]


def _fits(tool: Tool[Call], category: str, tag: str) -> bool:
    return category in {"", _category(tool)} and (not tag or tag in _tool_tags(tool))


def _entry(tool: Tool[Call]) -> dict[str, Json]:
    return {
        "name": tool.name,
        "description": tool.description,
        "category": _category(tool),
        "version": _VERSION,
        "deprecated": False,
        "tags": _tool_tags(tool),
        "actions": [
            {"name": _name(tool, part), "summary": part.description} for part in tool.parts
        ],
    }


def _whole(part: Tool[Call]) -> Json:
    """Return an action with what it takes, also what the list leaves out."""
    schema = {key: value for key, value in part.parameters.whole.items() if key != "type"}
    action_name = part.name.partition(" ")[2]
    keyed = KEY in schema["properties"]
    return {"name": action_name, "summary": part.description, "writes": keyed, "parameters": schema}


def _name(tool: Tool[Call], part: Tool[Call]) -> str:
    return part.name.removeprefix(f"{tool.name} ")


ProviderId = Annotated[str, Field(min_length=1, max_length=100, description="As listed"), TEXT]
Prompt = Annotated[str, Field(min_length=1, max_length=100_000, description="What to ask"), TEXT]
ModelName = Annotated[str, Field(max_length=200, description="Other than its usual one"), TEXT]
_TOKENS: Final = 2_000
"""Tokens of an answer that mostly fits on one page; a longer one is kept, so that its pages are of one answer."""
_CAPABILITIES: Final[list[Json]] = ["text", "streaming", "json_schema"]
_META: Final = 400
_REASONS: Final[Mapping[Stop, str]] = {
    "end": "stop",
    "length": "length",
    "refused": "content_filter",
    "other": "other",
}
_MORE: Final = "Others cannot be asked now; with include_unavailable=true they are told, with why."
_CUT: Final = (
    "The rest of the answer is not shown, for this project keeps none: ask for fewer tokens."
)


@action(reads=True, name="list", hidden=["include_unavailable"])
def list_(
    call: Call,
    *,
    include_unavailable: Annotated[bool, Field(description="With why not")] = False,
) -> Json:
    """Who can be asked."""
    every = standing_of(call).every
    listed = [provider for provider in every if include_unavailable or provider.is_available]
    return present(
        {
            "providers": [_line(provider, index) for index, provider in enumerate(listed, 1)],
            "available_count": sum(provider.is_available for provider in every),
            "total_count": len(every),
        },
        warnings=[_MORE] if len(listed) < len(every) else (),
    )


@action(reads=True)
def status(call: Call, provider_id: ProviderId) -> Json:
    """One of them."""
    provider = standing_of(call).named(provider_id)
    supported = list(dict.fromkeys((*filter(None, [provider.model]), *provider.models)))
    return present(
        {
            "provider_id": provider.name,
            "available": provider.is_available,
            "metadata": {
                "name": provider.description,
                "version": None,
                "default_model": provider.model or None,
                "supported_models": cast("Json", supported),
                "documentation_url": None,
                "tags": _provider_tags(provider),
            },
            "capabilities": ["text"] if provider.kind == "command" else _CAPABILITIES,
            "health": {
                "status": "healthy" if provider.is_available else "unavailable",
                "available": provider.is_available,
                "reason": provider.reason or None,
            },
        }
    )


@action(
    reads=False,
    idempotent=False,
    open_world=True,
    hidden=["max_tokens", "temperature", "timeout", "cursor"],
)
def execute(
    call: Call,
    progress: Progress,
    provider_id: ProviderId,
    prompt: Prompt,
    model: ModelName = "",
    max_tokens: Annotated[
        int, Field(ge=1, le=100_000, description="Of the answer"), INTEGER
    ] = _TOKENS,
    temperature: Annotated[float | None, Field(ge=0, le=2, description="0-2"), NUMBER] = None,
    timeout: Annotated[
        float, Field(ge=1, le=3_600, description="Seconds"), NUMBER
    ] = DEFAULT_TIMEOUT,
    cursor: Cursor = "",
) -> Json:
    """Ask it."""
    key: list[Json] = ["provider execute", provider_id, prompt, model, max_tokens, temperature]
    sample = secrets.token_hex(8) if max_tokens > _TOKENS else ""
    pages = pages_of(call, cursor, *key, first=[0, sample])
    at, sample = cast("tuple[int, str]", pages.at)
    question = make_question(
        prompt,
        provider=provider_id,
        model=model,
        max_tokens=max_tokens,
        temperature=temperature,
        timeout=timeout,
        purpose="provider",
        caching="always" if sample else "auto",
        sample=sample,
    )
    models = call.core.models
    if cursor:
        return _shown(models.kept(question), at, sample, pages.cursor)
    answer = models.ask(question, watching(progress))
    # As it is kept: what is masked there is masked on every page.
    cached = models.find_kept(question) if sample else None
    return _shown(cached or answer, at, sample, pages.cursor)


def _shown(answer: Answer, at: int, sample: str, sealed: Callable[[Json], str]) -> Json:
    """Return the page of an answer that begins at a character."""
    fields: dict[str, Json] = {
        "provider_id": answer.provider,
        "model": answer.model,
        "finish_reason": _REASONS[answer.stop],
        "token_usage": {
            "prompt_tokens": answer.tokens.input,
            "completion_tokens": answer.tokens.output,
            "total_tokens": answer.tokens.input + answer.tokens.output,
        },
    }
    content, end = part_of_text(answer.text, at).cut(PAGE - RESERVE - _META - size_of(fields))
    is_cut = end is not None and not answer.is_kept
    cursor = "" if end is None or is_cut else sealed([end, sample])
    return present(
        {**fields, "content": content},
        warnings=[_CUT] if is_cut else (),
        pagination=page(cursor, 1) if cursor else None,
    )


def _line(provider: Provider, position: int) -> Json:
    fields: dict[str, Json] = {
        "id": provider.name,
        "description": clip(provider.description, 300),
        "priority": position,
        "tags": _provider_tags(provider),
        "available": provider.is_available,
    }
    return fields if provider.is_available else {**fields, "reason": clip(provider.reason, 300)}


def _provider_tags(provider: Provider) -> list[Json]:
    return [provider.kind, *(["free"] if provider.is_free else [])]


provider = of_actions("provider", "AI models to ask.", (list_, status, execute))
