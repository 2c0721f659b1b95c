"""The one door to the core: every verb, for one caller, in one project.

A `Core` is made for each call and is cheap; it lives in one thread. `once` runs a call under an
idempotency key, so that a retry hears the first answer again and nothing happens twice.

A group of verbs is imported when it is first asked for, for a client waits for the first answer of a
server that was just started, and most answers need two or three groups.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from counterpoint.core.operations.recording.context import Caller, Context, OpenUnit, Ports
from counterpoint.core.operations.recording.unit import once, perform
from counterpoint.kernel.canonical import Json

if TYPE_CHECKING:
    from counterpoint.core.operations.access import Identities, Tokens
    from counterpoint.core.operations.audit import LedgerAudit
    from counterpoint.core.operations.claims import Claims
    from counterpoint.core.operations.documents import Documents
    from counterpoint.core.operations.feed import EntryFeed
    from counterpoint.core.operations.finding.embedding import Embedding
    from counterpoint.core.operations.gates import Gates
    from counterpoint.core.operations.items import Items
    from counterpoint.core.operations.journal import Journal
    from counterpoint.core.operations.memory import Memory, Notebooks
    from counterpoint.core.operations.models.asking import ModelVerbs
    from counterpoint.core.operations.overview import Overview
    from counterpoint.core.operations.plan_updates import PlanUpdates
    from counterpoint.core.operations.plans import Plans
    from counterpoint.core.operations.presences import Presences
    from counterpoint.core.operations.projects import Projects
    from counterpoint.core.operations.readiness import Ready
    from counterpoint.core.operations.reviews import Reviews
    from counterpoint.core.operations.runs import Runs
    from counterpoint.core.operations.sessions import Sessions
    from counterpoint.core.operations.tasks import Tasks
    from counterpoint.core.operations.trust.awaiting import AwaitedWork
    from counterpoint.core.operations.trust.erasing import Erasures
    from counterpoint.core.operations.trust.exports import Exports
    from counterpoint.core.operations.trust.joint_acts import JointActs
    from counterpoint.core.operations.trust.keys import Keys
    from counterpoint.core.operations.trust.people import People
    from counterpoint.core.operations.trust.permitted import Permitted
    from counterpoint.core.operations.trust.signing import LedgerSigning
    from counterpoint.core.operations.trust.witness_policy import WitnessPolicies
    from counterpoint.core.operations.trust.witnessing import WitnessChecks
    from counterpoint.core.operations.trust.writers import Writers
    from counterpoint.core.operations.web import SearchVerbs
    from counterpoint.core.queries.brief import Briefs

V = TypeVar("V")


class Core:
    """Every verb of the core, as one caller may use them."""

    def __init__(self, ports: Ports, caller: Caller, unit: OpenUnit | None = None) -> None:
        """Open the door for a caller, within the transaction of a call if it has one open."""
        self._context = Context(ports=ports, caller=caller, unit=unit)

    def in_session(self, session: str) -> Core:
        """Return the core as the same caller uses it in another session, begun or not.

        It works in the transaction of this call if that has one open.
        """
        context = self._context.in_session(session)
        core = Core(context.ports, context.caller, context.unit)
        # With all that the call came with, its idempotency key too.
        core._context = context
        return core

    @property
    def caller(self) -> Caller:
        """Who is calling."""
        return self._context.caller

    @property
    def project(self) -> str:
        """The id of the project every answer is of."""
        return self._context.project

    def use(self, verbs: Callable[[Context], V]) -> V:
        """Return a group of verbs of a dialect, for the caller and the transaction of this core.

        verbs: the class of the group, made from the context of a call as those of the core are.
        """
        return verbs(self._context)

    def once(self, key: str, request: Json, run: Callable[[], Json]) -> Json:
        """Run a call under an idempotency key; a retry hears the first answer. KeyReused."""
        return once(self._context, key, request, run)

    def one_moment(self) -> AbstractContextManager[None]:
        """Answer all that a block reads from one moment, in one transaction; the block writes nothing."""
        return self._context.one_moment()

    def try_out(self, act: Callable[[Core], object]) -> None:
        """Raise what an act would raise for this caller; nothing of it lands.

        act: gets a core of its own. What it does outside of the ledger it does: give it only what writes there.
        """

        def run(context: Context) -> None:
            core = Core(context.ports, context.caller)
            core._context = context
            act(core)

        perform(self._context, run, dry_run=True)

    @cached_property
    def identities(self) -> Identities:
        """Verbs for finding out who calls."""
        from counterpoint.core.operations.access import Identities

        return Identities(self._context)

    @cached_property
    def presences(self) -> Presences:
        """Verbs with which a server tells of its connections."""
        from counterpoint.core.operations.presences import Presences

        return Presences(self._context)

    @cached_property
    def exports(self) -> Exports:
        """Verbs for what other people's tools read."""
        from counterpoint.core.operations.trust.exports import Exports

        return Exports(self._context)

    @cached_property
    def keys(self) -> Keys:
        """Verbs for looking at the keys of people."""
        from counterpoint.core.operations.trust.keys import Keys

        return Keys(self._context)

    @cached_property
    def people(self) -> People:
        """Verbs for the keys of people and what they sign."""
        from counterpoint.core.operations.trust.people import People

        return People(self._context)

    @cached_property
    def signing(self) -> LedgerSigning:
        """Verbs for heads of the ledger that are signed."""
        from counterpoint.core.operations.trust.signing import LedgerSigning

        return LedgerSigning(self._context)

    @cached_property
    def witnessing(self) -> WitnessChecks:
        """Verbs for those who keep heads of the ledger elsewhere."""
        from counterpoint.core.operations.trust.witnessing import WitnessChecks

        return WitnessChecks(self._context)

    @cached_property
    def witness_policies(self) -> WitnessPolicies:
        """Verbs for the witnesses that must have signed."""
        from counterpoint.core.operations.trust.witness_policy import WitnessPolicies

        return WitnessPolicies(self._context)

    @cached_property
    def joint_acts(self) -> JointActs:
        """Verbs for acts that several people sign."""
        from counterpoint.core.operations.trust.joint_acts import JointActs

        return JointActs(self._context)

    @cached_property
    def writers(self) -> Writers:
        """Verbs for what connections and credentials sign."""
        from counterpoint.core.operations.trust.writers import Writers

        return Writers(self._context)

    @cached_property
    def erasing(self) -> Erasures:
        """Texts that are taken away for good."""
        from counterpoint.core.operations.trust.erasing import Erasures

        return Erasures(self._context)

    @cached_property
    def projects(self) -> Projects:
        """Verbs for the project itself."""
        from counterpoint.core.operations.projects import Projects

        return Projects(self._context)

    @cached_property
    def plan_updates(self) -> PlanUpdates:
        """Verbs for plans that are given again."""
        from counterpoint.core.operations.plan_updates import PlanUpdates

        return PlanUpdates(self._context)

    @cached_property
    def plans(self) -> Plans:
        """Verbs for whole trees of work."""
        from counterpoint.core.operations.plans import Plans

        return Plans(self._context)

    @cached_property
    def items(self) -> Items:
        """Verbs for single items and lists of them."""
        from counterpoint.core.operations.items import Items

        return Items(self._context)

    @cached_property
    def ready(self) -> Ready:
        """Verbs that find out what can be done."""
        from counterpoint.core.operations.readiness import Ready

        return Ready(self._context)

    @cached_property
    def claims(self) -> Claims:
        """Verbs for taking up work."""
        from counterpoint.core.operations.claims import Claims

        return Claims(self._context)

    @cached_property
    def tasks(self) -> Tasks:
        """Verbs for the end of work."""
        from counterpoint.core.operations.tasks import Tasks

        return Tasks(self._context)

    @cached_property
    def journal(self) -> Journal:
        """Verbs for records."""
        from counterpoint.core.operations.journal import Journal

        return Journal(self._context)

    @cached_property
    def reviews(self) -> Reviews:
        """Verbs for handing in and judging."""
        from counterpoint.core.operations.reviews import Reviews

        return Reviews(self._context)

    @cached_property
    def awaiting(self) -> AwaitedWork:
        """What waits for a submission, a verdict or a repair."""
        from counterpoint.core.operations.trust.awaiting import AwaitedWork

        return AwaitedWork(self._context)

    @cached_property
    def gates(self) -> Gates:
        """Verbs for checks."""
        from counterpoint.core.operations.gates import Gates

        return Gates(self._context)

    @cached_property
    def permitted(self) -> Permitted:
        """Verbs for which commands may be run."""
        from counterpoint.core.operations.trust.permitted import Permitted

        return Permitted(self._context)

    @cached_property
    def sessions(self) -> Sessions:
        """Verbs for sessions."""
        from counterpoint.core.operations.sessions import Sessions

        return Sessions(self._context)

    @cached_property
    def memory(self) -> Memory:
        """Verbs for remembered values."""
        from counterpoint.core.operations.memory import Memory

        return Memory(self._context)

    @cached_property
    def audit(self) -> LedgerAudit:
        """Verbs for proving."""
        from counterpoint.core.operations.audit import LedgerAudit

        return LedgerAudit(self._context)

    @cached_property
    def documents(self) -> Documents:
        """Verbs for documents that are kept to be found."""
        from counterpoint.core.operations.documents import Documents

        return Documents(self._context)

    @cached_property
    def embedding(self) -> Embedding:
        """Verbs for what meaning is found by."""
        from counterpoint.core.operations.finding.embedding import Embedding

        return Embedding(self._context)

    @cached_property
    def notebooks(self) -> Notebooks:
        """Verbs for what roles remember."""
        from counterpoint.core.operations.memory import Notebooks

        return Notebooks(self._context)

    @cached_property
    def runs(self) -> Runs:
        """Verbs for runs of agents."""
        from counterpoint.core.operations.runs import Runs

        return Runs(self._context)

    @cached_property
    def searches(self) -> SearchVerbs:
        """Verbs that search the web."""
        from counterpoint.core.operations.web import SearchVerbs

        return SearchVerbs(self._context)

    @cached_property
    def models(self) -> ModelVerbs:
        """Verbs that ask models."""
        from counterpoint.core.operations.models.asking import ModelVerbs

        return ModelVerbs(self._context)

    @cached_property
    def feed(self) -> EntryFeed:
        """Verbs for following the ledger."""
        from counterpoint.core.operations.feed import EntryFeed

        return EntryFeed(self._context)

    @cached_property
    def overview(self) -> Overview:
        """Verbs for looking at the whole."""
        from counterpoint.core.operations.overview import Overview

        return Overview(self._context)

    @cached_property
    def briefs(self) -> Briefs:
        """Verbs that tell a caller where it is."""
        from counterpoint.core.queries.brief import Briefs

        return Briefs(self._context)

    @cached_property
    def tokens(self) -> Tokens:
        """Verbs for access from other machines."""
        from counterpoint.core.operations.access import Tokens

        return Tokens(self._context)
