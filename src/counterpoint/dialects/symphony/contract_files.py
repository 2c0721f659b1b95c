"""Contracts of phases: a project's own files first, then those that ship.

A project keeps its own in `.counterpoint/phases/<phase>.md` or else in `prompts/phases/<phase>.md`.
They are read in the main tree, so that nobody changes in a worktree what judges the work done there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from counterpoint.core.ports.evidence import Evidence
from counterpoint.dialects.symphony.rules.contracts import Contract, is_phase, load_contract
from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.errors import InvalidInput, MalformedDocument, NotFound

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

FOLDERS = (".counterpoint/phases", "prompts/phases")
SIZE_LIMIT = 200_000

_SHIPPED = "contracts"
_SUFFIX = ".md"
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractDirectory:
    """The contracts of a project."""

    home: Path
    evidence: Evidence

    def contract(self, phase: str) -> Contract:
        """Return the contract of a phase; NotFound, MalformedDocument with all that is wrong."""
        if not is_phase(phase):
            raise InvalidInput(
                f"{phase[:80]!r} is not the name of a phase", hint=f"There are: {self._names()}."
            )
        source, content = self._find(phase)
        try:
            text = content.decode()
        except UnicodeDecodeError as fault:
            line = content.count(b"\n", 0, fault.start) + 1
            raise MalformedDocument(f"{source} is not UTF-8 text in line {line}") from fault
        read = load_contract(text, phase=phase, source=source, digest=sha256(content))
        if isinstance(read, Contract):
            return read
        more = f"; and {len(read) - _SHOWN} more" if len(read) > _SHOWN else ""
        raise MalformedDocument(
            f"{source}: {'; '.join(map(str, read[:_SHOWN]))}{more}",
            hint="Mend the file, or take it away: then the contract that ships is used.",
            source=source,
            faults=[{"line": fault.line, "problem": fault.problem} for fault in read],
        )

    def phases(self) -> list[str]:
        """Return the names of all phases that have a contract."""
        files = [entry.name for entry in _shipped().iterdir()]
        for folder in FOLDERS:
            own = self.home / folder
            files += [entry.name for entry in own.iterdir()] if own.is_dir() else []
        names = {name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX)}
        return sorted(name for name in names if is_phase(name))

    def _names(self) -> str:
        return ", ".join(self.phases())

    def _find(self, phase: str) -> tuple[str, bytes]:
        """Return where the contract is and its bytes; NotFound names those there are."""
        name = f"{phase}{_SUFFIX}"
        for folder in FOLDERS:
            try:
                return f"{folder}/{name}", self.evidence.load(
                    self.home, f"{folder}/{name}", SIZE_LIMIT
                )
            except NotFound:
                continue
        shipped = _shipped() / name
        if not shipped.is_file():
            raise NotFound(f"phase {phase!r} has no contract", hint=f"There are: {self._names()}.")
        return f"counterpoint/{name}", shipped.read_bytes()


def _shipped() -> Traversable:
    from importlib import resources

    return resources.files("counterpoint.dialects.symphony") / _SHIPPED
