"""A project and its roles: its first entry, and the instructions of each role."""

from __future__ import annotations

import re
from dataclasses import replace

from counterpoint.core.ledger.people.trusting import TRUSTED
from counterpoint.core.model.access import Independence
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.journal import Profile
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.authority import (
    acting,
    refusal,
    refuse_agent,
    refuse_unsigned_act,
)
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.rules.trust.callers import PEOPLE
from counterpoint.core.rules.trust.commands import loosened
from counterpoint.core.rules.trust.independence import may_ask_for
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Forbidden, InvalidInput
from counterpoint.kernel.matching.expressions import expression

_NAME = expression(r"[a-z0-9][a-z0-9._-]{0,63}")
_PREFIX_LENGTH = 12


class Projects:
    """Verbs for the project itself, and the roles that agents have in it."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def find(self) -> Project | None:
        """Return the context's project, if it was opened."""
        with self._context.reading() as view:
            return view.find(Project)

    def open(self, title: str) -> Project:
        """Return the project, made on first use with a prefix that no other has; InvalidInput."""
        found = self.find()
        if found is not None:
            return found
        name = self._context.project
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"{name!r} is not a name for a project",
                hint="Use up to 64 lower-case letters, digits, dots, underscores and hyphens.",
            )
        with recording(self._context, "project.opened") as change:
            # Another process may have opened it since the look above.
            again = change.find(Project)
            if again is not None:
                return again
            taken = {project.prefix for project in self._context.ports.store.projects()}
            project = Project(
                project=name,
                title=Prose(title or name),
                prefix=_free_prefix(name, taken),
                ledger=self._context.ports.mint.mint("led"),
                # Named with the first signature: nobody waits for a signer to begin.
                public_key="",
                created_at=change.now,
            )
            change.put(project)
            change.add_facts(prefix=project.prefix)
            return project

    def ask_of_reviews(self, reviews: Independence, reason: str = "") -> Project:
        """Say how surely a judge has to be somebody else from now on; the same again writes nothing.

        Raises Forbidden to an agent, and to all but a person with a key where a person was asked for.
        """
        with recording(self._context, "policy.changed") as change:
            change.open_session()
            before = change.get(Project)
            if before.reviews == reviews:
                return before
            asker, act = acting(change), "change what this project asks of reviews"
            if asker not in PEOPLE:
                raise refusal(change.writing, self._context, act, Act.BY_PERSON)
            if not may_ask_for(asker, before.reviews, reviews):
                name = self._context.caller.actor.name
                why = (
                    "a person signs that people here may judge their own work"
                    if reviews == "self"
                    else "this project asks for a person with a key"
                )
                raise Forbidden(
                    f"{why}: without a signature {name} cannot {act}", hint=f"{Act.SIGN}."
                )
            after = replace(before, reviews=reviews)
            change.put(after)
            change.add_facts(policy=reviews, before=before.reviews)
            change.add_texts(reason=reason)
            return after

    def proposed_trust(self, said: Checking, search_path: str) -> ProposedAct:
        """Return what trusting a configuration would decide, for a person to sign."""
        return ProposedAct(action=TRUSTED, decision={"digest": loosened(said, search_path)})

    def trust(self, said: Checking, search_path: str) -> Project:
        """Let what a configuration loosens count from now on; the same again writes nothing.

        Raises Forbidden to all but a person, who signs where anybody has a key.
        """
        digest = loosened(said, search_path)
        with recording(self._context, TRUSTED) as change:
            change.open_session()
            before = change.get(Project)
            if before.trusted == digest:
                return before
            refuse_unsigned_act(change, "say which commands are run here", Act.TRUST)
            after = replace(before, trusted=digest, search_path=search_path)
            change.put(after)
            change.add_facts(digest=digest)
            return after

    def profile(self, name: str) -> Profile | None:
        """Return the profile of a name, or None."""
        with self._context.reading() as view:
            return view.find(Profile, name)

    def put_profile(
        self,
        name: str,
        *,
        title: str = "",
        instructions: str = "",
        allowed_tools: tuple[str, ...] = (),
        denied_tools: tuple[str, ...] = (),
    ) -> Profile:
        """Make a profile, or put it in the place of the one with its name; Forbidden to an agent."""
        with recording(self._context, "profile.put") as change:
            refuse_agent(
                change, "say what a role may do", "Ask a person: `counterpoint profile set`"
            )
            change.open_session()
            profile = Profile(
                project=self._context.project,
                name=name,
                title=Prose(title or name),
                instructions=Prose(instructions),
                allowed_tools=allowed_tools,
                denied_tools=denied_tools,
                updated_at=change.now,
            )
            change.put(profile)
            change.add_facts(name=name)
            return profile


def _free_prefix(name: str, taken: set[str]) -> str:
    letters = re.sub(r"[^a-z0-9]+", "", name)[:_PREFIX_LENGTH] or "work"
    prefix, count = letters, 1
    while prefix in taken:
        count += 1
        prefix = f"{letters}{count}"
    return prefix
