"""The environment of a project, and what foundry's clients need in it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final, cast

from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.dialects.foundry.config_file import DEFAULT, FILE, ConfigFile
from counterpoint.dialects.foundry.nouns.environment import (
    Made,
    Preset,
    Runner,
    SetUp,
    permissions,
    project_type,
    runners,
)
from counterpoint.dialects.foundry.places import FOLDERS, SpecsPlaces
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound, PathOutside

PERMISSIONS: Final = ".claude/settings.local.json"
_LIMIT: Final = 1_000_000


class Environment:
    """Verbs for the environment of a project."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def specs(self) -> str:
        """Return the folder of specs; empty if there is none, or it may not be used."""
        try:
            folder = self._places.specs
        except PathOutside:
            return ""
        return str(folder) if folder.is_dir() else ""

    def roots(self) -> tuple[str, ...]:
        """Return the trees of the project for the caller."""
        return tuple(dict.fromkeys((str(self._places.tree), str(self._places.home))))

    def config(self) -> tuple[dict[str, dict[str, Json]], str]:
        """Return the settings of the project's file, with defaults, and its name; MalformedDocument."""
        return self._context.ports.get(ConfigFile).read()

    def make_folders(self, path: str, *, below: bool) -> Made:
        """Make the folder of specs, and those of each status if asked for; PathOutside, InvalidInput.

        path: the folder that it lies in; empty for the project's.
        """
        specs = self._places.specs
        if path and self._places.within(path) not in {specs.parent.resolve(), specs.resolve()}:
            raise InvalidInput(
                f"the specs of this project lie in {self._from_home(specs)}, and nowhere else",
                hint="Leave `path` out.",
            )
        folders = [specs, *(specs / name for name in FOLDERS if below)]
        for folder in folders:
            # A link below may lead outside, as the folder itself may.
            self._context.ports.evidence.contain(self._places.home, self._from_home(folder))
        absent = [folder for folder in folders if not folder.is_dir()]
        if absent:
            with recording(self._context, "environment.folders_made") as change:
                change.add_facts(folders=[self._make_folder(folder) for folder in absent])
        return Made(
            specs=self._from_home(specs),
            created=tuple(map(self._from_home, absent)),
            existing=tuple(self._from_home(folder) for folder in folders if folder not in absent),
        )

    def _make_folder(self, folder: Path) -> str:
        """Make a folder and return its path; Conflict if something else has its name."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError as fault:
            raise Conflict(
                f"{self._from_home(folder)} is there, and is no folder",
                hint="Move it out of the way.",
            ) from fault
        return self._from_home(folder)

    def kind(self, path: str) -> tuple[str, bool]:
        """Return the type of a project's folder, and whether it is in git; PathOutside, NotFound."""
        folder = self._folder(path)
        has_git = any((parent / ".git").exists() for parent in (folder, self._places.tree))
        return project_type(_names(folder)), has_git

    def test_runners(self, path: str) -> list[Runner]:
        """Return the test runners of a folder, the surest first; PathOutside, NotFound."""
        folder = self._folder(path)
        names = _names(folder)
        return runners(
            names,
            has_tests=bool({"tests", "test"} & names),
            npm_test=_npm_test(folder / "package.json"),
        )

    def set_up(
        self, preset: Preset, tools: Collection[str], *, has_config: bool, dry_run: bool
    ) -> SetUp:
        """Allow a client to call tools of this server, and write a settings file if there is none.

        Existing content stays: permissions are added, a settings file is never overwritten. Raises Conflict if the
        permissions cannot be read.
        """
        home, evidence = self._places.home, self._context.ports.evidence
        rules = permissions(preset, tools)
        settings, added = self._with_permissions(rules)
        changes = [f"{PERMISSIONS}: allow {rule}" for rule in added]
        writes_config = has_config and not (home / FILE).exists()
        if writes_config:
            changes.append(f"{FILE}: written with the defaults")
        if changes and not dry_run:
            with recording(self._context, "environment.set_up") as change:
                if added:
                    evidence.save(home, PERMISSIONS, f"{json.dumps(settings, indent=2)}\n".encode())
                if writes_config:
                    evidence.save(home, FILE, DEFAULT.encode())
                change.add_facts(changes=changes)
        return SetUp(
            specs=self.specs(), permissions=PERMISSIONS, config=FILE, changes=tuple(changes)
        )

    def _with_permissions(self, rules: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
        """Return the settings of the client with these permissions, and which of them are new."""
        refusal = Conflict(
            f"{PERMISSIONS} cannot be read as settings of a client",
            hint="Mend the file; nothing was written.",
        )
        try:
            content = self._context.ports.evidence.load(self._places.home, PERMISSIONS, _LIMIT)
            parsed: Any = json.loads(content)
        except NotFound:
            parsed = {}
        except ValueError:
            raise refusal from None
        settings = _object(parsed)
        allow = _object((settings or {}).get("permissions", {}))
        listed = (allow or {}).get("allow", [])
        if settings is None or allow is None or not isinstance(listed, list):
            raise refusal
        present = cast("list[Json]", listed)
        added = [rule for rule in rules if rule not in present]
        merged = {**allow, "allow": [*present, *added]}
        return {**settings, "permissions": merged}, added

    def _folder(self, path: str) -> Path:
        folder = self._places.within(path) if path else self._places.tree
        if not folder.is_dir():
            raise NotFound(f"there is no folder `{path[:200]}`", hint="Name one of the project.")
        return folder

    def _from_home(self, path: Path) -> str:
        """Return a path relative to the main worktree."""
        home = self._places.home
        return path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path)

    @property
    def _places(self) -> SpecsPlaces:
        return self._context.ports.get(SpecsPlaces)


def _object(value: object) -> dict[str, Any] | None:
    """Return an object of JSON; None for any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def _npm_test(path: Path) -> str:
    """Return the test script of a package; empty without one."""
    try:
        with path.open("rb") as file:
            package: Any = json.loads(file.read(_LIMIT))
        script: Any = package["scripts"]["test"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return script if isinstance(script, str) else ""
