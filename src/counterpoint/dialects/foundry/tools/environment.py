"""The project as a place to work in: folders, programs, settings of clients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Final

from pydantic import Field

from counterpoint.dialects.arguments import TEXTS
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.config_file import SECTIONS
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.nouns.environment import (
    OPTIONAL_TOOLS,
    REQUIRED_TOOLS,
    Preset,
    Runtime,
)
from counterpoint.dialects.foundry.toolchain import find_program, missing_packages, runtime
from counterpoint.dialects.foundry.verbs.environment import Environment
from counterpoint.dialects.foundry.words import DryRun, Name, Workspace
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, NotFound
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
    required = {name: bool(find_program(name)) for name in REQUIRED_TOOLS}
    data: dict[str, Json] = {"required": required, "all_available": all(required.values())}
    if include_optional:
        data["optional"] = {name: bool(find_program(name)) for name in OPTIONAL_TOOLS}
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
