"""The one door to the core: every verb, for one caller, in one project.

A `Core` is made for each call and is cheap; it lives in one thread. `once` runs a call under an
idempotency key, so that a retry hears the first answer again and nothing happens twice.

A group of verbs is imported when it is first asked for, for a client waits for the first answer of a
server that was just started, and most answers need two or three groups.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from counterpoint.core.operations.recording.context import Caller, Context, OpenUnit, Ports
from counterpoint.core.operations.recording.unit import once, perform
from counterpoint.kernel.canonical import Json

if TYPE_CHECKING:
    from counterpoint.core.operations.access import Identities, Tokens
    from counterpoint.core.operations.audit import LedgerAudit
    from counterpoint.core.operations.claims import Claims
    from counterpoint.core.operations.documents import Documents
    from counterpoint.core.operations.finding.embedding import Embedding
    from counterpoint.core.operations.gates import Gates
    from counterpoint.core.operations.items import Items
    from counterpoint.core.operations.journal import Journal
    from counterpoint.core.operations.memory import Memory, Notebooks
    from counterpoint.core.operations.models.asking import ModelVerbs
    from counterpoint.core.operations.plan_updates import PlanUpdates
    from counterpoint.core.operations.plans import Plans
    from counterpoint.core.operations.presences import Presences
    from counterpoint.core.operations.projects import Projects
    from counterpoint.core.operations.readiness import Ready
    from counterpoint.core.operations.reviews import Reviews
    from counterpoint.core.operations.runs import Runs
    from counterpoint.core.operations.sessions import Sessions
    from counterpoint.core.operations.tasks import Tasks
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
    from counterpoint.core.queries.awaiting import AwaitedWork
    from counterpoint.core.queries.brief import Briefs
    from counterpoint.core.queries.feed import EntryFeed
    from counterpoint.core.queries.overview import Overview

V = TypeVar("V")


class _Group:
    """A group of verbs, which becomes an attribute of the core that it was asked of."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, core: Core | None, _owner: type | None = None) -> object:
        if core is None:
            return self
        module, _, name = self._path.rpartition(".")
        verbs = getattr(import_module(f"counterpoint.core.{module}"), name)
        return core.__dict__.setdefault(self._name, verbs(core.__dict__["_context"]))


def _group(path: str) -> Any:
    """Return the group of verbs of a class of the core, by its module and name."""
    return _Group(path)


class Core:
    """Every verb of the core, as one caller may use them."""

    identities: Identities = _group("operations.access.Identities")
    """Verbs for finding out who calls."""
    presences: Presences = _group("operations.presences.Presences")
    """Verbs with which a server tells of its connections."""
    exports: Exports = _group("operations.trust.exports.Exports")
    """Verbs for what other people's tools read."""
    keys: Keys = _group("operations.trust.keys.Keys")
    """Verbs for looking at the keys of people."""
    people: People = _group("operations.trust.people.People")
    """Verbs for the keys of people and what they sign."""
    signing: LedgerSigning = _group("operations.trust.signing.LedgerSigning")
    """Verbs for heads of the ledger that are signed."""
    witnessing: WitnessChecks = _group("operations.trust.witnessing.WitnessChecks")
    """Verbs for those who keep heads of the ledger elsewhere."""
    witness_policies: WitnessPolicies = _group("operations.trust.witness_policy.WitnessPolicies")
    """Verbs for the witnesses that must have signed."""
    joint_acts: JointActs = _group("operations.trust.joint_acts.JointActs")
    """Verbs for acts that several people sign."""
    writers: Writers = _group("operations.trust.writers.Writers")
    """Verbs for what connections and credentials sign."""
    erasing: Erasures = _group("operations.trust.erasing.Erasures")
    """Texts that are taken away for good."""
    projects: Projects = _group("operations.projects.Projects")
    """Verbs for the project itself."""
    plan_updates: PlanUpdates = _group("operations.plan_updates.PlanUpdates")
    """Verbs for plans that are given again."""
    plans: Plans = _group("operations.plans.Plans")
    """Verbs for whole trees of work."""
    items: Items = _group("operations.items.Items")
    """Verbs for single items and lists of them."""
    ready: Ready = _group("operations.readiness.Ready")
    """Verbs that find out what can be done."""
    claims: Claims = _group("operations.claims.Claims")
    """Verbs for taking up work."""
    tasks: Tasks = _group("operations.tasks.Tasks")
    """Verbs for the end of work."""
    journal: Journal = _group("operations.journal.Journal")
    """Verbs for records."""
    reviews: Reviews = _group("operations.reviews.Reviews")
    """Verbs for handing in and judging."""
    awaiting: AwaitedWork = _group("queries.awaiting.AwaitedWork")
    """What waits for a submission, a verdict or a repair."""
    gates: Gates = _group("operations.gates.Gates")
    """Verbs for checks."""
    permitted: Permitted = _group("operations.trust.permitted.Permitted")
    """Verbs for which commands may be run."""
    sessions: Sessions = _group("operations.sessions.Sessions")
    """Verbs for sessions."""
    memory: Memory = _group("operations.memory.Memory")
    """Verbs for remembered values."""
    audit: LedgerAudit = _group("operations.audit.LedgerAudit")
    """Verbs for proving."""
    documents: Documents = _group("operations.documents.Documents")
    """Verbs for documents that are kept to be found."""
    embedding: Embedding = _group("operations.finding.embedding.Embedding")
    """Verbs for what meaning is found by."""
    notebooks: Notebooks = _group("operations.memory.Notebooks")
    """Verbs for what roles remember."""
    runs: Runs = _group("operations.runs.Runs")
    """Verbs for runs of agents."""
    searches: SearchVerbs = _group("operations.web.SearchVerbs")
    """Verbs that search the web."""
    models: ModelVerbs = _group("operations.models.asking.ModelVerbs")
    """Verbs that ask models."""
    feed: EntryFeed = _group("queries.feed.EntryFeed")
    """Verbs for following the ledger."""
    overview: Overview = _group("queries.overview.Overview")
    """Verbs for looking at the whole."""
    briefs: Briefs = _group("queries.brief.Briefs")
    """Verbs that tell a caller where it is."""
    tokens: Tokens = _group("operations.access.Tokens")
    """Verbs for access from other machines."""

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
