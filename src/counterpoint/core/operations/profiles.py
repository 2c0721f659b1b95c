"""Profiles: the roles agents work in, and what each is told."""

from __future__ import annotations

from counterpoint.core.model.journal import Profile
from counterpoint.core.model.rows import Prose
from counterpoint.core.operations.recording.desk import Desk
from counterpoint.core.operations.recording.unit import recording


class Profiles:
    """Verbs for roles."""

    def __init__(self, desk: Desk) -> None:
        """Work at a desk."""
        self._desk = desk

    def find(self, name: str) -> Profile | None:
        """Answer the profile of a name, or None."""
        with self._desk.reading() as view:
            return view.find(Profile, name)

    def put(
        self,
        name: str,
        *,
        title: str = "",
        instructions: str = "",
        allowed_tools: tuple[str, ...] = (),
        denied_tools: tuple[str, ...] = (),
    ) -> Profile:
        """Make a profile, or put it in the place of the one with its name."""
        with recording(self._desk, "profile.put") as change:
            change.open_session()
            profile = Profile(
                project=self._desk.project,
                name=name,
                title=title or name,
                instructions=Prose(instructions),
                allowed_tools=allowed_tools,
                denied_tools=denied_tools,
                updated_at=change.now,
            )
            change.put(profile)
            change.told(name=name)
            return profile
