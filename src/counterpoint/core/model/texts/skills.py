"""Skills: instructions for agents that a project keeps as files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from counterpoint.core.model.texts.faults import TextFault
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp

CAPABILITIES = ("read", "write", "spawn", "audit", "admin")
LETTERS = "αβγδεζηθικλμνξπ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill as its file has it; the file is the truth, and nothing of it is in the ledger.

    source: the path of the file, its root as it is named in the project or in the settings.
    digest: SHA-256 of the file. front_matter: every key as it was written, the unknown ones too.
    loaded_at: when this text was first seen.
    """

    name: str
    description: str
    source: str
    body: str
    digest: str
    loaded_at: Timestamp
    license: str = ""
    compatibility: str = ""
    allowed_tools: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    version: str = ""
    entrypoint: str = ""
    capabilities: tuple[str, ...] = ()
    letter: str = ""
    front_matter: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFile:
    """A file that could not be taken, and all that is wrong with it."""

    source: str
    faults: tuple[TextFault, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillReport:
    """What a look at the roots found: the skills by name, and what was skipped and why.

    roots: where was looked, first to last. pruned: the names that were there before the last change
    and are no more. Every file that was found is either a skill or skipped.
    """

    skills: tuple[Skill, ...]
    skipped: tuple[SkippedFile, ...]
    roots: tuple[str, ...]
    pruned: tuple[str, ...] = ()

    @property
    def found(self) -> int:
        """How many files there are."""
        return len(self.skills) + len(self.skipped)
