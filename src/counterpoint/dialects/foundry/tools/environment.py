"""The tools `environment` and `error`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from counterpoint.dialects.arguments import INTEGER, TEXT, TEXTS
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.environment.errors import Errors
from counterpoint.dialects.foundry.environment.operations import (
    SECTIONS,
    Environment,
    find_tool,
    missing_packages,
    runtime,
)
from counterpoint.dialects.foundry.models.environment import (
    DAYS,
    MOST,
    OPTIONAL_TOOLS,
    REQUIRED_TOOLS,
    ErrorFilter,
    ErrorPattern,
    ErrorRecord,
    Preset,
    Runtime,
)
from counterpoint.dialects.foundry.words import Cursor, DryRun, LongLimit, Name, Workspace
from counterpoint.dialects.paging import pages_of, sparse
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import moment, stamp
from counterpoint.kernel.errors import InvalidInput, NotFound
from counterpoint.kernel.plurals import counted
from counterpoint.protocol.actions import ActionTool, action, of_actions
from counterpoint.protocol.tools import Tool

_MOST: Final = 50
_Package = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Packages = Annotated[list[_Package], Field(max_length=_MOST, description="Python packages"), TEXTS]
Sections = Annotated[list[Name], Field(max_length=_MOST, description="Only these"), TEXTS]
Checked = Annotated[bool, Field(description="Look for it")]


@action(reads=False)
def init(
    call: Call,
    path: Workspace = "",
    *,
    create_subdirs: Annotated[bool, Field(description="One per status")] = True,
) -> Json:
    """Make the specs folder."""
    folders = call.core.use(Environment).make_folders(path, below=create_subdirs)
    return present(
        {
            "specs_dir": folders.specs,
            "active_dir": f"{folders.specs}/active",
            "created_dirs": list(folders.created),
            "existing_dirs": list(folders.existing),
        }
    )


@action(reads=True, plain=True)
def verify_env(
    _call: Call,
    *,
    check_python: Checked = True,
    check_git: Checked = True,
    check_node: Checked = False,
    required_packages: Packages = [],  # noqa: B006 -- read, and never changed
) -> Json:
    """Versions of programs."""
    checks = {"python": check_python, "git": check_git, "node": check_node}
    runtimes = {name: runtime(name) for name, is_checked in checks.items() if is_checked}
    absent = missing_packages(required_packages) if required_packages else []
    data: dict[str, Json] = {
        "runtimes": {name: _runtime(present) for name, present in runtimes.items()},
        "all_valid": all(present.available for present in runtimes.values()) and not absent,
    }
    if required_packages:
        data["missing_packages"] = list(absent)
    return present(data)


@action(reads=True, plain=True)
def verify_toolchain(
    _call: Call,
    *,
    include_optional: Annotated[bool, Field(description="With optional ones")] = True,
) -> Json:
    """Programs on the PATH."""
    required = {name: bool(find_tool(name)) for name in REQUIRED_TOOLS}
    data: dict[str, Json] = {"required": required, "all_available": all(required.values())}
    if include_optional:
        data["optional"] = {name: bool(find_tool(name)) for name in OPTIONAL_TOOLS}
    return present(data)


@action(reads=True)
def detect(call: Call, path: Workspace = "") -> Json:
    """Type of project."""
    environment = call.core.use(Environment)
    kind, has_git = environment.kind(path)
    specs = environment.specs() or None
    return present({"project_type": kind, "has_git": has_git, "specs_dir": specs})


@action(reads=True, plain=True)
def detect_test_runner(call: Call, path: Workspace = "") -> Json:
    """Its test runners."""
    runners = call.core.use(Environment).test_runners(path)
    lines: list[Json] = [
        {
            "runner_name": runner.name,
            "project_type": runner.project_type,
            "confidence": runner.confidence,
            "reason": runner.reason,
        }
        for runner in runners
    ]
    default = runners[0].name if runners else None
    return present({"detected_runners": lines, "recommended_default": default})


@action(reads=True, plain=True)
def get_config(
    call: Call,
    sections: Sections = [],  # noqa: B006 -- read, and never changed
    key: Annotated[Name, Field(description="Only this setting")] = "",
) -> Json:
    """Client settings."""
    strange = [name for name in sections if name not in SECTIONS]
    if strange:
        raise InvalidInput(
            f"there is no section {strange[0]!r}",
            hint=f"There are: {', '.join(SECTIONS)}.",
        )
    every, file = call.core.use(Environment).config()
    chosen = {name: every[name] for name in sections or SECTIONS}
    if key:
        chosen = {
            name: {key: settings[key]} for name, settings in chosen.items() if key in settings
        }
        if not chosen:
            raise NotFound(
                f"there is no setting {key!r} in these sections", hint="Leave `key` out."
            )
    return present({"sections": dict(chosen), "config_file": file or None})


def environment_of(listed: Callable[[], Sequence[Tool[Call]]]) -> ActionTool[Call]:
    """Return the tool, whose setup lets clients call these tools."""

    @action(reads=False)
    def setup(
        call: Call,
        permissions_preset: Annotated[Preset, Field(description="What it may call")] = "minimal",
        *,
        create_toml: Annotated[bool, Field(description="Write foundry-mcp.toml")] = True,
        dry_run: DryRun = False,
    ) -> Json:
        """Let a client call these tools."""
        names = [tool.name for tool in listed()]
        done = call.core.use(Environment).set_up(
            permissions_preset, names, has_config=create_toml, dry_run=dry_run
        )
        return present(
            {
                "specs_dir": done.specs or None,
                "permissions_file": done.permissions,
                "config_file": done.config,
                "changes": list(done.changes),
                "dry_run": dry_run,
            }
        )

    actions = (
        *(init, verify_env, verify_toolchain, setup),
        *(detect, detect_test_runner, get_config),
    )
    return of_actions("environment", "The project's setup.", actions)


def _runtime(runtime: Runtime) -> Json:
    return {
        "available": runtime.available,
        "version": runtime.version or None,
        "executable": runtime.executable or None,
    }


_TOP: Final = 10
_SHOWN: Final = 25
"""How many sorts are told at once."""


def _moment(text: str) -> str:
    """Return a moment as timestamps are written; a date is its beginning. ValueError."""
    try:
        time = moment(text)
    except ValueError:
        raise ValueError("must be a time such as 2026-11-20T12:00:00Z") from None
    return stamp(time if time.tzinfo else time.replace(tzinfo=UTC)) if time.year > 1 else ""


_Word = Annotated[str, Field(min_length=1, max_length=100), TEXT]
ToolName = Annotated[_Word, Field(description="Tool")]
Code = Annotated[_Word, Field(description="Code")]
Type = Annotated[_Word, Field(description="Type")]
Fingerprint = Annotated[_Word, Field(description="Sort of error")]
Provider = Annotated[_Word, Field(description="Provider")]
Since = Annotated[str, Field(max_length=40, description="From this time"), TEXT]
Until = Annotated[str, Field(max_length=40, description="To this time"), TEXT]
Moment = AfterValidator(_moment)


@action(reads=True, plain=True)
def list_(
    call: Call,
    tool_name: ToolName = "",
    error_code: Code = "",
    error_type: Type = "",
    fingerprint: Fingerprint = "",
    provider_id: Provider = "",
    since: Annotated[Since, Moment] = "",
    until: Annotated[Until, Moment] = "",
    limit: LongLimit = 100,
    cursor: Cursor = "",
) -> Json:
    """Newest first."""
    selection = ErrorFilter(
        tool_name=tool_name,
        error_code=error_code,
        error_type=error_type,
        fingerprint=fingerprint,
        provider_id=provider_id,
        since=since,
        until=until,
    )
    query: Mapping[str, Json] = asdict(selection)
    pages = pages_of(call, cursor, "errors", dict(query), first="")
    every = call.core.use(Errors).find(selection)
    # What came since the first page is newer than its place, and is not met again.
    rows = [record for record in every if not pages.at or _place(record) < str(pages.at)]
    lines, further = pages.rows(rows[: limit + 1], limit, _error, _place)
    answer = page(further, len(lines), len(every))
    return present({"errors": lines, "count": len(lines)}, pagination=answer)


@action(reads=True, plain=True)
def get(call: Call, error_id: Annotated[_Word, Field(description="Error id")]) -> Json:
    """One error."""
    return present({"error": _error(call.core.use(Errors).get(error_id))})


@action(reads=True, plain=True)
def stats(call: Call) -> Json:
    """Counts."""
    errors = call.core.use(Errors)
    counts = errors.statistics()
    return present(
        {
            "total_errors": counts.total,
            "unique_patterns": len(counts.patterns),
            "by_tool": dict(counts.by_tool),
            "by_error_code": dict(counts.by_code),
            "top_patterns": [_pattern(pattern) for pattern in counts.patterns[:_TOP]],
            "updated_at": errors.now(),
        }
    )


@action(reads=True)
def patterns(
    call: Call,
    min_count: Annotated[int, Field(ge=1, le=MOST, description="How often"), INTEGER] = 3,
) -> Json:
    """Those that recur."""
    patterns = call.core.use(Errors).patterns(min_count)
    return present(
        {
            "patterns": [_pattern(pattern) for pattern in patterns[:_SHOWN]],
            "pattern_count": len(patterns),
            "min_count_filter": min_count,
        }
    )


@action(reads=False, destructive=True, plain=True)
def cleanup(
    call: Call,
    retention_days: Annotated[int, Field(ge=0, le=DAYS, description="Days kept"), INTEGER] = DAYS,
    max_errors: Annotated[int, Field(ge=0, le=MOST, description="Errors kept"), INTEGER] = MOST,
    *,
    dry_run: DryRun = False,
) -> Json:
    """Delete old ones."""
    stay, go = call.core.use(Errors).clean(retention_days, max_errors, dry_run=dry_run)
    would = "would be deleted" if dry_run else "were deleted"
    return present(
        {
            "current_count": stay + go if dry_run else stay,
            "deleted_count": go,
            "retention_days": retention_days,
            "max_errors": max_errors,
            "dry_run": dry_run,
            "message": f"{counted(go, 'error')} {would}; {stay} stay",
        }
    )


error = of_actions(
    "error", "Errors of this dialect's calls.", (list_, get, stats, patterns, cleanup)
)


def _error(record: ErrorRecord) -> Json:
    return sparse(**asdict(record))


def _place(record: ErrorRecord) -> Json:
    return f"{record.timestamp} {record.id}"


def _pattern(pattern: ErrorPattern) -> Json:
    last = pattern.last
    return {
        "fingerprint": last.fingerprint,
        "tool_name": last.tool_name,
        "action": last.action,
        "error_code": last.error_code,
        "message": last.message,
        "count": pattern.count,
        "first_seen": pattern.first_seen,
        "last_seen": last.timestamp,
    }
