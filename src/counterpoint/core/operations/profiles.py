"""Profiles: the roles agents work in, and what each is told."""

from __future__ import annotations

from counterpoint.core.model.journal import Profile
from counterpoint.core.model.rows import Prose
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording


class Profiles:
    """Verbs for roles."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def find(self, name: str) -> Profile | None:
        """Return the profile of a name, or None."""
        with self._context.reading() as view:
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
        with recording(self._context, "profile.put") as change:
            change.open_session()
            profile = Profile(
                project=self._context.project,
                name=name,
                title=title or name,
                instructions=Prose(instructions),
                allowed_tools=allowed_tools,
                denied_tools=denied_tools,
                updated_at=change.now,
            )
            change.put(profile)
            change.add_facts(name=name)
            return profile
