"""Skills: listed, filtered, got by name, and reported."""

from __future__ import annotations

from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.rules.frontmatter import TextFault
from counterpoint.dialects.colibri.rules.skills import Skill, SkillReport, SkippedFile
from counterpoint.dialects.colibri.verbs.skills import Skills
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import InvalidInput, NotFound
from fakes.studio import Studio


def skill(name: str, description: str, **changes: Any) -> Skill:
    """Make a skill."""
    return Skill(
        name=name,
        description=description,
        source=f".agents/skills/{name}/SKILL.md",
        body="",
        digest="d",
        loaded_at=Timestamp("2026-01-02T03:04:05.000Z"),
        **changes,
    )


@pytest.fixture(autouse=True)
def shelved(studio: Studio) -> SkillReport:
    """Put three skills and a file that was skipped on the shelf."""
    studio.cabinet.report = SkillReport(
        skills=(
            skill("audit-trail", "Checks a chain", capabilities=("read", "audit"), letter="ζ"),
            skill("deploy", "Brings a Release out", capabilities=("write",)),
            skill("review", "Reads changes", capabilities=("read",)),
        ),
        skipped=(
            SkippedFile(
                source=".agents/skills/broken/SKILL.md",
                faults=(TextFault(problem="'description' is missing", line=1),),
            ),
        ),
        roots=(".agents/skills",),
    )
    return studio.cabinet.report


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({}, ["audit-trail", "deploy", "review"]),
        ({"search": "RELEASE"}, ["deploy"]),
        ({"search": "re"}, ["deploy", "review"]),
        ({"capability": "read"}, ["audit-trail", "review"]),
        ({"capability": "spawn"}, []),
        ({"letter": "ζ"}, ["audit-trail"]),
        ({"search": "read", "capability": "read"}, ["review"]),
    ],
)
def test_skills_are_listed_by_what_is_asked_for(
    ada: Core, filters: dict[str, str], names: list[str]
) -> None:
    """Words in the name or the description, a whole capability, a letter; all must be true."""
    assert [skill.name for skill in ada.use(Skills).list(**filters)] == names


@pytest.mark.parametrize("filters", [{"capability": "rea"}, {"letter": "ω"}, {"letter": "αβ"}])
def test_a_filter_that_can_never_match_is_refused(
    studio: Studio, ada: Core, filters: dict[str, str]
) -> None:
    """An empty answer would look like an answer."""
    studio.refuses(InvalidInput, lambda: ada.use(Skills).list(**filters))


def test_a_skill_that_is_not_there_is_told_with_its_neighbours(studio: Studio, ada: Core) -> None:
    """The nearest names help; if there is none, the list does."""
    assert "deploy" in studio.refuses(NotFound, lambda: ada.use(Skills).get("deplyo")).hint
    assert "List" in studio.refuses(NotFound, lambda: ada.use(Skills).get("x")).hint


def test_a_skill_that_was_skipped_says_why(studio: Studio, ada: Core) -> None:
    """The author of the file reads the reason where it is missed."""
    refused = studio.refuses(NotFound, lambda: ada.use(Skills).get("broken"))
    assert "line 1: 'description' is missing" in refused.message
    assert ".agents/skills/broken/SKILL.md" in refused.hint


def test_the_report_counts_every_file(ada: Core, shelved: SkillReport) -> None:
    """What was found is either a skill or skipped."""
    assert ada.use(Skills).report() is shelved
    assert shelved.found == 4
