"""A project and its roles: its first entry, and the instructions of each role."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, cast

from counterpoint.core.ledger.people.trusting import TRUSTED
from counterpoint.core.model.access import Independence
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.journal import Profile
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.model.work import Attribute, Project
from counterpoint.core.operations.recording.authority import (
    caller_authority,
    refusal,
    refuse_agent,
    refuse_unsigned_act,
)
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import value_of
from counterpoint.core.operations.recording.forks import find_cut_off
from counterpoint.core.operations.recording.unallowed import why_elsewhere, why_not_trusted
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.trust.callers import PEOPLE, may_ask_for
from counterpoint.core.rules.trust.commands import loosened
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Forbidden, InvalidInput

ADOPTED: Final = "repository.adopted"
REPOSITORY: Final = "repository"
"""The attribute of no item that says which first commits the repositories of the project have."""
_PREFIX_LENGTH = 12


class Projects(Verbs):
    """Verbs for the project itself, and the roles that agents have in it."""

    def find(self) -> Project | None:
        """Return the context's project, if it was opened."""
        with self._context.reading() as view:
            return view.find(Project)

    def open(self, title: str, roots: tuple[str, ...] = ()) -> Project:
        """Return the project, made on first use with a prefix that no other has; InvalidInput.

        roots: the first commits of the repository that it is made for, if they count here and are known.
        """
        existing = self.find()
        if existing is not None:
            return existing
        # Only the first command in a place asks.
        from counterpoint.kernel.naming import is_project_name

        name = self._context.project
        if not is_project_name(name):
            raise InvalidInput(
                f"{name!r} is not a name for a project",
                hint="Use up to 64 small letters of any script, digits, dots, underscores and hyphens.",
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
            if roots:
                _put_roots(change, roots)
            return project

    def root_commits(self) -> tuple[str, ...]:
        """Return the first commits of the repositories that the project belongs to; none while they are not known."""
        with self._context.reading() as view:
            return root_commits_of(view)

    def remember_repository(self, roots: tuple[str, ...]) -> tuple[str, ...]:
        """Write down which repository the project belongs to, unless that is known; return what is known then."""
        with recording(self._context, "repository.remembered") as change:
            # Another process may have written it since the caller looked.
            if before := root_commits_of(change.writing):
                return before
            _put_roots(change, roots)
            return roots

    def proposed_adoption(self, roots: tuple[str, ...]) -> ProposedAct:
        """Return what taking a repository over would decide, for a person to sign."""
        return ProposedAct(action=ADOPTED, decision={"roots": [*roots]})

    def adopt(self, roots: tuple[str, ...]) -> tuple[str, ...]:
        """Let the project belong to a repository too, and return the first commits of all; the same again writes nothing.

        Raises Forbidden to all but a person, who signs where anybody has a key.
        """
        with recording(self._context, ADOPTED) as change:
            before = root_commits_of(change.writing)
            if set(roots) <= set(before):
                return before
            refuse_unsigned_act(change, "say which repository a project belongs to", Act.BY_PERSON)
            change.open_session()
            after = tuple(sorted({*before, *roots}))
            _put_roots(change, after)
            return after

    def ask_of_reviews(self, reviews: Independence, reason: str = "") -> Project:
        """Say how surely a judge has to be somebody else from now on; the same again writes nothing.

        Raises Forbidden to an agent, and to all but a person with a key where a person was asked for.
        """
        with recording(self._context, "policy.changed") as change:
            change.open_session()
            before = change.get(Project)
            if before.reviews == reviews:
                return before
            asker, act = caller_authority(change), "change what this project asks of reviews"
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

    def proposed_trust(self, checking: Checking, search_path: str) -> ProposedAct:
        """Return what trusting a configuration would decide, for a person to sign."""
        return ProposedAct(action=TRUSTED, decision={"digest": loosened(checking, search_path)})

    def trust(self, checking: Checking, search_path: str) -> Project:
        """Let what a configuration loosens, and the ledger, count here from now on; the same again writes nothing.

        Raises Forbidden to all but a person, who signs where anybody has a key; ForkRefused for an older copy.
        """
        digest, ports = loosened(checking, search_path), self._context.ports
        self.refuse_older()
        with recording(self._context, TRUSTED) as change:
            change.open_session()
            before = change.get(Project)
            if before.trusted == digest and ports.trusted.covers(before.ledger, digest):
                return before
            refuse_unsigned_act(change, "say which commands are run here", Act.TRUST)
            after = replace(before, trusted=digest, search_path=search_path)
            if before.trusted != digest:
                change.put(after)
                change.add_facts(digest=digest)
        if self._context.unit is None:
            # What is only tried out is trusted by nobody.
            ports.trusted.trust(after, digest)
        return after

    def why_not_trusted(self, checking: Checking) -> str:
        """Return why what a configuration loosens does not count here; empty if it does, or loosens nothing."""
        with self._context.reading() as view:
            return why_not_trusted(self._context, view, checking)

    def refuse_older(self) -> None:
        """Raise ForkRefused for a ledger that does not go on from what was signed of it: trusting it helps nobody."""
        with self._context.reading() as view:
            if fault := find_cut_off(self._context, view):
                raise fault

    def why_elsewhere(self) -> str:
        """Return why tokens and credentials of the ledger open nothing here; empty if this account trusts it in its place."""
        with self._context.reading() as view:
            return why_elsewhere(self._context, view)

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


def root_commits_of(view: Reading) -> tuple[str, ...]:
    """Return the first commits of the repositories that a project belongs to; none while they are not known."""
    attribute = view.find(Attribute, "", REPOSITORY)
    roots = value_of(attribute) if attribute is not None else None
    return tuple(cast("list[str]", roots)) if isinstance(roots, list) else ()


def _put_roots(change: Change, roots: tuple[str, ...]) -> None:
    value = Prose(canonical.dump_any([*roots]))
    change.put(Attribute(project=change.context.project, item="", name=REPOSITORY, value=value))
    change.add_facts(roots=[*roots])


def _free_prefix(name: str, taken: set[str]) -> str:
    letters = re.sub(r"[^a-z0-9]+", "", name)[:_PREFIX_LENGTH] or "work"
    prefix, count = letters, 1
    while prefix in taken:
        count += 1
        prefix = f"{letters}{count}"
    return prefix
