"""Skills: what a project teaches its agents, as its files have it now."""

from __future__ import annotations

from difflib import get_close_matches

from counterpoint.core.operations.recording.context import Verbs
from counterpoint.dialects.colibri.rules.skills import CAPABILITIES, LETTERS, Skill, SkillReport
from counterpoint.dialects.colibri.skill_files import SkillDirectory
from counterpoint.kernel.errors import InvalidInput, NotFound

_NEAR = 3


class Skills(Verbs):
    """Verbs for skills; each looks at the files first, which is cheap when nothing changed."""

    def report(self) -> SkillReport:
        """Return every skill, and every file that was skipped and why."""
        return self._context.ports.get(SkillDirectory).look()

    def list(self, *, search: str = "", capability: str = "", letter: str = "") -> list[Skill]:
        """Return skills by name.

        search: words that stand together in the name or the description, in any letter case.
        capability, letter: one of those there are; InvalidInput.
        """
        if capability and capability not in CAPABILITIES:
            raise InvalidInput(
                f"there is no capability {capability[:60]!r}",
                hint=f"There are: {', '.join(CAPABILITIES)}.",
            )
        if letter and (len(letter) > 1 or letter not in LETTERS):
            raise InvalidInput(f"{letter[:60]!r} is none of the letters {' '.join(LETTERS)}")
        phrase = search.casefold()
        return [
            skill
            for skill in self.report().skills
            if (phrase in skill.name or phrase in skill.description.casefold())
            and (not capability or capability in skill.capabilities)
            and (not letter or letter == skill.letter)
        ]

    def get(self, name: str) -> Skill:
        """Return a skill; NotFound names those that are near, or why its file was skipped."""
        report = self.report()
        for skill in report.skills:
            if skill.name == name:
                return skill
        for file in report.skipped:
            if file.source.split("/")[-2:-1] == [name]:
                raise NotFound(
                    f"the skill {name!r} was skipped: {'; '.join(map(str, file.faults))}",
                    hint=f"Mend {file.source}.",
                )
        near = get_close_matches(name[:100], [skill.name for skill in report.skills], n=_NEAR)
        raise NotFound(
            f"there is no skill {name[:100]!r}",
            hint=f"Near are: {', '.join(near)}." if near else "List the skills there are.",
        )
