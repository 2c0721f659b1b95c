"""What a project is made with, and what foundry's clients need in it."""

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
    """Verbs for a project as a place to work in."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def specs(self) -> str:
        """Return the folder of specs; empty if there is none, or none that may be used."""
        try:
            folder = self._places.specs
        except PathOutside:
            return ""
        return str(folder) if folder.is_dir() else ""

    def roots(self) -> tuple[str, ...]:
        """Return the trees of the project that the caller works in."""
        return tuple(dict.fromkeys((str(self._places.tree), str(self._places.home))))

    def config(self) -> tuple[dict[str, dict[str, Json]], str]:
        """Return what the project's file says, with defaults, and its name; MalformedDocument."""
        return self._context.ports.get(ConfigFile).read()

    def make_folders(self, path: str, *, below: bool) -> Made:
        """Make the folder of specs, and those of each status if asked for; PathOutside, InvalidInput.

        path: the folder that it lies in; empty for the project's.
        """
        specs = self._places.specs
        if path and self._places.within(path) not in {specs.parent.resolve(), specs.resolve()}:
            raise InvalidInput(
                f"the specs of this project lie in {self._shown(specs)}, and nowhere else",
                hint="Leave `path` out.",
            )
        wanted = [specs, *(specs / name for name in FOLDERS if below)]
        for folder in wanted:
            # A link below may lead elsewhere, as the folder itself may.
            self._context.ports.evidence.contain(self._places.home, self._shown(folder))
        absent = [folder for folder in wanted if not folder.is_dir()]
        if absent:
            with recording(self._context, "environment.folders_made") as change:
                change.add_facts(folders=[self._made(folder) for folder in absent])
        return Made(
            specs=self._shown(specs),
            created=tuple(map(self._shown, absent)),
            existing=tuple(self._shown(folder) for folder in wanted if folder not in absent),
        )

    def _made(self, folder: Path) -> str:
        """Make a folder and return it as it is shown; Conflict if something else has its name."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError as fault:
            raise Conflict(
                f"{self._shown(folder)} is there, and is no folder",
                hint="Move it out of the way.",
            ) from fault
        return self._shown(folder)

    def kind(self, path: str) -> tuple[str, bool]:
        """Return what a folder of the project is made with, and whether it is in git; PathOutside, NotFound."""
        folder = self._folder(path)
        has_git = any((one / ".git").exists() for one in (folder, self._places.tree))
        return project_type(_names(folder)), has_git

    def test_runners(self, path: str) -> list[Runner]:
        """Return what may run the tests of a folder, the surest first; PathOutside, NotFound."""
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
        """Let a client call tools of this server, and write a file of settings if there is none.

        What is there stays: permissions are added, a file of settings is never written again. Raises Conflict if the
        permissions cannot be read.
        """
        home, evidence = self._places.home, self._context.ports.evidence
        wanted = permissions(preset, tools)
        settings, added = self._with_permissions(wanted)
        changes = [f"{PERMISSIONS}: allow {one}" for one in added]
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

    def _with_permissions(self, wanted: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
        """Return the settings of the client with what is to be allowed, and what of it is new."""
        refusal = Conflict(
            f"{PERMISSIONS} cannot be read as settings of a client",
            hint="Mend the file; nothing was written.",
        )
        try:
            content = self._context.ports.evidence.load(self._places.home, PERMISSIONS, _LIMIT)
            said: Any = json.loads(content)
        except NotFound:
            said = {}
        except ValueError:
            raise refusal from None
        settings = _object(said)
        allow = _object((settings or {}).get("permissions", {}))
        listed = (allow or {}).get("allow", [])
        if settings is None or allow is None or not isinstance(listed, list):
            raise refusal
        known = cast("list[Json]", listed)
        added = [one for one in wanted if one not in known]
        merged = {**allow, "allow": [*known, *added]}
        return {**settings, "permissions": merged}, added

    def _folder(self, path: str) -> Path:
        folder = self._places.within(path) if path else self._places.tree
        if not folder.is_dir():
            raise NotFound(f"there is no folder `{path[:200]}`", hint="Name one of the project.")
        return folder

    def _shown(self, path: Path) -> str:
        """Return a path of the project from its main worktree on."""
        home = self._places.home
        return path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path)

    @property
    def _places(self) -> SpecsPlaces:
        return self._context.ports.get(SpecsPlaces)


def _object(value: object) -> dict[str, Any] | None:
    """Return an object of JSON; None for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def _npm_test(path: Path) -> str:
    """Return the script of a package that runs its tests; empty without one."""
    try:
        with path.open("rb") as file:
            said: Any = json.loads(file.read(_LIMIT))
        found: Any = said["scripts"]["test"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return found if isinstance(found, str) else ""
