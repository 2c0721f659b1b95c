"""What the core asks about the texts that a project keeps as files."""

from __future__ import annotations

from typing import Protocol

from counterpoint.core.model.texts.contracts import Contract
from counterpoint.core.model.texts.skills import SkillReport


class Skills(Protocol):
    """Where the skills of a project are kept."""

    def look(self) -> SkillReport:
        """Return every skill there is now, and what was skipped; reads again what has changed."""
        ...


class Contracts(Protocol):
    """Where the contracts of phases are kept."""

    def contract(self, phase: str) -> Contract:
        """Return the contract of a phase.

        NotFound names those there are; MalformedDocument says all that is wrong with the file.
        """
        ...

    def phases(self) -> list[str]:
        """Return the names of all phases that have a contract."""
        ...
