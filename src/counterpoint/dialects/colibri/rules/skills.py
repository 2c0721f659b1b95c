"""Reads one skill: a file `SKILL.md` in the open Agent Skills format.

Layout: front matter, then the instructions in Markdown. Valid if and only if (1) `name` has 1 to 64
lower-case letters, digits and single hyphens between them, and is the name of the file's folder,
(2) `description` has 1 to 1,024 characters, (3) `compatibility`, if given, has at most 500,
(4) `metadata`, if given, maps texts to texts, (5) `allowed-tools`, if given, is names between blanks
or a list of them, (6) `license`, `version` and `entrypoint`, if given, are texts of at most 500,
(7) `capabilities`, if given, are among read, write, spawn, audit and admin, (8) `greekLetter`, if
given, is one of fifteen letters. Any other key is kept as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from counterpoint.core.rules.frontmatter import Keys, TextFault
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.yamltext import parse_words

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


NAME_LENGTH = 64
DESCRIPTION_LENGTH = 1024
LINE_LENGTH = 500

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TOOL = re.compile(r"[^\s,(]+(?:\([^)]*+\)?)?")


def load_skill(
    text: str, *, folder: str, source: str, digest: str, loaded_at: Timestamp
) -> Skill | tuple[TextFault, ...]:
    """Return the skill that a file in a folder describes, or all that is wrong with it by line."""
    keys = Keys(text)
    skill = Skill(
        name=_name(keys, folder),
        description=keys.text("description", longest=DESCRIPTION_LENGTH, is_required=True),
        source=source,
        body=keys.body,
        digest=digest,
        loaded_at=loaded_at,
        license=keys.text("license", longest=LINE_LENGTH),
        compatibility=keys.text("compatibility", longest=LINE_LENGTH),
        allowed_tools=keys.hear("allowed-tools", _tools, ()),
        metadata=keys.mapping("metadata"),
        version=keys.text("version", longest=LINE_LENGTH),
        entrypoint=keys.text("entrypoint", longest=LINE_LENGTH),
        capabilities=_capabilities(keys),
        letter=_letter(keys),
        front_matter=keys.values,
    )
    return keys.all_faults() or skill


def _name(keys: Keys, folder: str) -> str:
    name = keys.text("name", longest=NAME_LENGTH, is_required=True)
    keys.check(
        "name", _NAME.fullmatch, "lower-case letters, digits and single hyphens between them"
    )
    keys.check("name", lambda text: text == folder, f"{folder!r} as its folder is named")
    return name


def _tools(key: str, value: Json, *, line: int) -> tuple[str, ...]:
    """Hear names of tools; blanks inside of parentheses do not part them."""
    return (
        tuple(_TOOL.findall(value))
        if isinstance(value, str)
        else parse_words(key, value, line=line)
    )


def _capabilities(keys: Keys) -> tuple[str, ...]:
    words = tuple(dict.fromkeys(keys.hear("capabilities", parse_words, ())))
    strange = [word for word in words if word not in CAPABILITIES]
    if strange:
        keys.fault(
            "capabilities",
            f"has {', '.join(map(repr, strange))}; there are {', '.join(CAPABILITIES)}",
        )
    return words


def _letter(keys: Keys) -> str:
    letter = keys.text("greekLetter", longest=LINE_LENGTH)
    keys.check(
        "greekLetter",
        lambda text: len(text) == 1 and text in LETTERS,
        f"one of {' '.join(LETTERS)}",
    )
    return letter
