"""Looks at the machine, the configuration and the server.

Asks the programs on the PATH which versions they are.
Programs in the tree are the agents', so none is started. A Python of a virtual environment there is read instead: its version from
`pyvenv.cfg`, its packages from their metadata.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Final, cast

from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import Evidence
from counterpoint.dialects.foundry.models.environment import (
    LEAST_FREE_MB,
    Dependency,
    Made,
    Preset,
    Runner,
    Runtime,
    SetUp,
    grade_of_disk,
    permissions,
    project_type,
    runners,
)
from counterpoint.dialects.foundry.places import FOLDERS, SpecsPlaces
from counterpoint.dialects.foundry.research.asking import Askable
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    Conflict,
    CounterpointError,
    InvalidInput,
    MalformedDocument,
    NotFound,
    PathOutside,
)
from counterpoint.kernel.starting import programs
from counterpoint.kernel.starting.programs import find_program

FILE: Final = "foundry-mcp.toml"
LIMIT: Final = 100_000
SECTIONS: Final[Mapping[str, Mapping[str, bool | str]]] = {
    "implement": {"delegate": False, "parallel": False},
    "git": {
        "enabled": True,
        "auto_commit": False,
        "auto_push": False,
        "auto_pr": False,
        "commit_cadence": "manual",
        "show_before_commit": True,
    },
}
"""What clients are told of, with what holds where the file says nothing."""
DEFAULT: Final = """\
# How agents work in this project with specs of foundry. What is not here has its default.

[implement]
delegate = false
parallel = false

[git]
enabled = true
auto_commit = false
auto_push = false
auto_pr = false
commit_cadence = "manual"
show_before_commit = true
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """The file of a project, in its main worktree."""

    home: Path
    evidence: Evidence

    def read(self) -> tuple[dict[str, dict[str, Json]], str]:
        """Return every section with its defaults, and the name of the file; empty without one.

        Raises MalformedDocument, for a value of another type too.
        """
        file_settings, name = self.said()
        return {section: _merged(section, file_settings) for section in SECTIONS}, name

    def said(self) -> tuple[dict[str, Any], str]:
        """Return all that the file says, and its name; nothing and an empty name without one. MalformedDocument."""
        try:
            content = self.evidence.load(self.home, FILE, LIMIT)
        except NotFound:
            return {}, ""
        try:
            return tomllib.loads(content.decode()), FILE
        except ValueError as fault:
            raise MalformedDocument(f"{FILE} cannot be read: {fault}") from fault


def _merged(section: str, file_settings: Mapping[str, Any]) -> dict[str, Json]:
    raw: Any = file_settings.get(section, {})
    if not isinstance(raw, dict):
        raise MalformedDocument(f"{FILE}: `{section}` is no table")
    section_values = cast("dict[str, Json]", raw)
    merged: dict[str, Json] = {}
    for key, default in SECTIONS[section].items():
        value = section_values.get(key, default)
        if type(value) is not type(default):
            type_name = "true or false" if isinstance(default, bool) else "text"
            raise MalformedDocument(f"{FILE}: `{section}.{key}` must be {type_name}")
        merged[key] = value
    return merged


_SECONDS: Final = 5
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+")
_SEPARATORS: Final = re.compile(r"[-_.]+")
_OTHER_NAMES: Final = {"python": ("python3", "python")}
_INSTALLED: Final = (
    "import sys, importlib.metadata as m\n"
    "for n in sys.argv[1:]:\n"
    "    try: m.version(n)\n"
    "    except m.PackageNotFoundError: print(n)\n"
)
"""Looks at what is installed; nothing of the packages is loaded."""


def find_tool(name: str) -> str:
    """Return where a program is; empty if it is not on the PATH outside of the tree."""
    if name == "python" and (settings := _environment()):
        return str(settings.parent / "bin" / "python")
    paths = (programs.find_program(alias) for alias in _OTHER_NAMES.get(name, (name,)))
    return next((path for path in paths if path), "")


def runtime(name: str) -> Runtime:
    """Return a program as it answers for its version."""
    path = find_tool(name)
    if not path:
        return Runtime(available=False)
    settings = _environment() if name == "python" else None
    answer = _version_line(settings) if settings else _output((path, "--version"))
    version = _VERSION.search(answer or "")
    return Runtime(
        available=version is not None, version=version[0] if version else "", executable=path
    )


def missing_packages(names: Sequence[str]) -> list[str]:
    """Return which packages the Python on the PATH has not; all of them without one."""
    if settings := _environment():
        installed = {*_packages(settings.parent)}
        return [name for name in names if _normal(name) not in installed]
    path = find_tool("python")
    output = _output((path, "-I", "-c", _INSTALLED, *names)) if path else None
    return list(names) if output is None else output.split()


def _environment() -> Path | None:
    """Return the `pyvenv.cfg` of the Python that is first on the PATH if it is one of the tree."""
    path = next(filter(None, map(shutil.which, _OTHER_NAMES["python"])), None)
    if path is None or not programs.is_in_tree(path):
        return None
    settings = Path(path).parent.parent / "pyvenv.cfg"
    return settings if settings.is_file() else None


def _version_line(settings: Path) -> str:
    lines = settings.read_text("utf-8", "replace").splitlines()
    return next((line for line in lines if line.startswith("version")), "")


def _packages(environment: Path) -> Iterator[str]:
    folders = [str(path) for path in environment.glob("lib/python*/site-packages")]
    for distribution in distributions(path=folders):
        yield _normal(distribution.metadata["Name"] or "")


def _normal(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()


def _output(argv: Sequence[str]) -> str | None:
    """Return what a program writes; None if it fails or takes too long."""
    try:
        done = subprocess.run(  # noqa: S603 -- a program of the PATH, asked for its version
            argv,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout


PERMISSIONS: Final = ".claude/settings.local.json"
_LIMIT: Final = 1_000_000


class Environment(Verbs):
    """Verbs for the environment of a project."""

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


_MB: Final = 1_048_576


class Condition(Verbs):
    """Health checks of a project."""

    def readiness(self) -> list[Dependency]:
        """Check what every call needs."""
        return [_measure(look) for look in (self._ledger, self._specs, self._disk)]

    def everything(self) -> list[Dependency]:
        """Check what some calls need, too."""
        return [*self.readiness(), *(_measure(look) for look in (self._git, self._provider))]

    def _ledger(self) -> Dependency:
        try:
            with self._context.reading() as view:
                size = view.head().size
        except CounterpointError as fault:
            return Dependency(name="ledger", grade="unhealthy", message=fault.message)
        return Dependency(
            name="ledger",
            grade="healthy",
            message="The ledger can be read",
            details={"entries": size},
        )

    def _specs(self) -> Dependency:
        try:
            folder = self._places.specs
        except PathOutside as fault:
            return Dependency(name="specs_directory", grade="unhealthy", message=fault.message)
        path = str(folder)
        if not folder.is_dir():
            words = "There is no folder: specs are in the ledger alone"
            return Dependency(
                name="specs_directory", grade="healthy", message=words, details={"path": path}
            )
        usable = os.access(folder, os.R_OK | os.W_OK | os.X_OK)
        return Dependency(
            name="specs_directory",
            grade="healthy" if usable else "unhealthy",
            message="The folder can be used" if usable else "The folder cannot be read and written",
            details={"path": path},
        )

    def _disk(self) -> Dependency:
        usage = shutil.disk_usage(self._places.home)
        free = round(usage.free / _MB, 1)
        return Dependency(
            name="disk_space",
            grade=grade_of_disk(free),
            message=f"{free} MB are free",
            details={
                "path": str(self._places.home),
                "free_mb": free,
                "total_mb": round(usage.total / _MB, 1),
                "threshold_mb": LEAST_FREE_MB,
            },
        )

    def _git(self) -> Dependency:
        if find_program("git") is None:
            return Dependency(name="git", grade="degraded", message="git is not on the PATH")
        if not (self._places.tree / ".git").exists():
            words = "The project is no git repository: changes of files are told by their content"
            return Dependency(name="git", grade="degraded", message=words)
        return Dependency(name="git", grade="healthy", message="The project is a git repository")

    def _provider(self) -> Dependency:
        try:
            providers = Askable(self._context).list_providers()
        except MalformedDocument as fault:
            return Dependency(name="ai_provider", grade="degraded", message=fault.message)
        if providers.first:
            names = ", ".join(provider.name for provider in providers.first)
            return Dependency(name="ai_provider", grade="healthy", message=f"Can be asked: {names}")
        away = "; ".join(
            f"{provider.name}: {provider.reason}" for provider in providers.every if provider.is_set
        )
        words = f"No AI provider can be asked: {away}" if away else "No AI provider is configured"
        return Dependency(name="ai_provider", grade="degraded", message=words)

    @property
    def _places(self) -> SpecsPlaces:
        return self._context.ports.get(SpecsPlaces)


def _measure(look: Callable[[], Dependency]) -> Dependency:
    began = time.perf_counter()
    dependency = look()
    return replace(dependency, latency_ms=round((time.perf_counter() - began) * 1000, 2))
