"""The one door to the core: every verb, for one caller, in one project.

A `Core` is made for each call and is cheap; it lives in one thread. `once` runs a call under an
idempotency key, so that a retry hears the first answer again and nothing happens twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from counterpoint.core.operations.access.meters import Meters
from counterpoint.core.operations.access.precedence import Precedence
from counterpoint.core.operations.access.tokens import Tokens
from counterpoint.core.operations.accounts.actions import Actions
from counterpoint.core.operations.accounts.condition import Health
from counterpoint.core.operations.accounts.sittings import Sittings
from counterpoint.core.operations.accounts.stages import Stages
from counterpoint.core.operations.audit import Auditing
from counterpoint.core.operations.boards.issues import Issues
from counterpoint.core.operations.boards.moving import Moving
from counterpoint.core.operations.boards.policies import Policies
from counterpoint.core.operations.claims import Claims
from counterpoint.core.operations.delivery.phases import Phases
from counterpoint.core.operations.delivery.requests import Requests
from counterpoint.core.operations.delivery.workspaces import Workspaces
from counterpoint.core.operations.feed.following import Following
from counterpoint.core.operations.gates import Gates
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.knowledge.documents import Documents
from counterpoint.core.operations.knowledge.notebooks import Notebooks
from counterpoint.core.operations.learned.learnings import Learnings
from counterpoint.core.operations.learned.surveys import Surveys
from counterpoint.core.operations.memory import Memory
from counterpoint.core.operations.overview import Overview
from counterpoint.core.operations.planning.plans import Planning
from counterpoint.core.operations.planning.pruning import Pruning
from counterpoint.core.operations.planning.steps import Steps
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.profiles import Profiles
from counterpoint.core.operations.projects import Projects
from counterpoint.core.operations.proofs.seals import Seals
from counterpoint.core.operations.proofs.thoughts import Thoughts
from counterpoint.core.operations.readiness import Ready
from counterpoint.core.operations.recording.desk import Caller, Desk, OpenUnit, Outside
from counterpoint.core.operations.recording.unit import once
from counterpoint.core.operations.redaction import Redaction
from counterpoint.core.operations.reviews import Reviews
from counterpoint.core.operations.runs.streams import Runs
from counterpoint.core.operations.search import Search
from counterpoint.core.operations.sessions import Sessions
from counterpoint.core.operations.stints.stints import Stints
from counterpoint.core.operations.tasks import Tasks
from counterpoint.core.operations.texts.briefs import Briefs
from counterpoint.core.operations.texts.skills import Skills
from counterpoint.core.operations.workflows.context import Context
from counterpoint.core.operations.workflows.running import Workflows
from counterpoint.kernel.canonical import Json


class Core:
    """Every verb of the core, as one caller may use them."""

    def __init__(self, outside: Outside, caller: Caller, unit: OpenUnit | None = None) -> None:
        """Open the door for a caller, within the transaction of a call if it has one open."""
        self._desk = Desk(outside=outside, caller=caller, unit=unit)

    def speaking(self, session: str) -> Core:
        """Answer the core as the same caller may use it in another session; NotFound.

        What it writes is of that session's agent, in the transaction of this call if it has one.
        """
        found, desk = self.sessions.get(session), self._desk
        actor = replace(desk.caller.actor, session=found.id, name=found.agent)
        return Core(desk.outside, replace(desk.caller, actor=actor), desk.unit)

    def seated(self, session: str) -> Core:
        """Answer the core as the same caller may use it in a session of its own, begun or not."""
        desk = self._desk
        actor = replace(desk.caller.actor, session=session)
        return Core(desk.outside, replace(desk.caller, actor=actor), desk.unit)

    @property
    def caller(self) -> Caller:
        """Who is calling."""
        return self._desk.caller

    @property
    def project(self) -> str:
        """The id of the project every answer is of."""
        return self._desk.project

    def once(self, key: str, request: Json, run: Callable[[], Json]) -> Json:
        """Run a call under an idempotency key; a retry hears the first answer. KeyReused."""
        return once(self._desk, key, request, run)

    @cached_property
    def projects(self) -> Projects:
        """Verbs for the project itself."""
        return Projects(self._desk)

    @cached_property
    def plans(self) -> Plans:
        """Verbs for whole trees of work."""
        return Plans(self._desk)

    @cached_property
    def items(self) -> Items:
        """Verbs for single items and lists of them."""
        return Items(self._desk)

    @cached_property
    def ready(self) -> Ready:
        """Verbs that find out what can be done."""
        return Ready(self._desk)

    @cached_property
    def claims(self) -> Claims:
        """Verbs for taking up work."""
        return Claims(self._desk)

    @cached_property
    def tasks(self) -> Tasks:
        """Verbs for the end of work."""
        return Tasks(self._desk)

    @cached_property
    def journal(self) -> Journal:
        """Verbs for records."""
        return Journal(self._desk)

    @cached_property
    def reviews(self) -> Reviews:
        """Verbs for handing in and judging."""
        return Reviews(self._desk)

    @cached_property
    def gates(self) -> Gates:
        """Verbs for checks."""
        return Gates(self._desk)

    @cached_property
    def sessions(self) -> Sessions:
        """Verbs for sittings."""
        return Sessions(self._desk)

    @cached_property
    def workflows(self) -> Workflows:
        """Verbs for work that is declared as it goes."""
        return Workflows(self._desk)

    @cached_property
    def context(self) -> Context:
        """Verbs for looking at such work."""
        return Context(self._desk)

    @cached_property
    def issues(self) -> Issues:
        """Verbs for the issues of a board."""
        return Issues(self._desk)

    @cached_property
    def moving(self) -> Moving:
        """Verbs for moving issues between projects."""
        return Moving(self._desk)

    @cached_property
    def policies(self) -> Policies:
        """Verbs for what the project asks of work."""
        return Policies(self._desk)

    @cached_property
    def learnings(self) -> Learnings:
        """Verbs for what was learned."""
        return Learnings(self._desk)

    @cached_property
    def surveys(self) -> Surveys:
        """Verbs for what was looked through, and how the tests stand."""
        return Surveys(self._desk)

    @cached_property
    def planning(self) -> Planning:
        """Verbs for plans that are known by a slug."""
        return Planning(self._desk)

    @cached_property
    def pruning(self) -> Pruning:
        """Verbs for what was put away long ago."""
        return Pruning(self._desk)

    @cached_property
    def steps(self) -> Steps:
        """Verbs for the phases and tasks of such plans."""
        return Steps(self._desk)

    @cached_property
    def stints(self) -> Stints:
        """Verbs for sessions that others take up."""
        return Stints(self._desk)

    @cached_property
    def profiles(self) -> Profiles:
        """Verbs for roles."""
        return Profiles(self._desk)

    @cached_property
    def memory(self) -> Memory:
        """Verbs for remembered values."""
        return Memory(self._desk)

    @cached_property
    def briefs(self) -> Briefs:
        """Verbs for texts that somebody wants to have written."""
        return Briefs(self._desk)

    @cached_property
    def skills(self) -> Skills:
        """Verbs for what the project teaches its agents."""
        return Skills(self._desk)

    @cached_property
    def search(self) -> Search:
        """Verbs for finding."""
        return Search(self._desk)

    @cached_property
    def audit(self) -> Auditing:
        """Verbs for proving."""
        return Auditing(self._desk)

    @cached_property
    def thoughts(self) -> Thoughts:
        """Verbs for what was thought, in chains that cannot be changed afterwards."""
        return Thoughts(self._desk)

    @cached_property
    def seals(self) -> Seals:
        """Verbs for sealing sessions and proving what was thought in them."""
        return Seals(self._desk)

    @cached_property
    def sittings(self) -> Sittings:
        """Verbs for audited sittings."""
        return Sittings(self._desk)

    @cached_property
    def stages(self) -> Stages:
        """Verbs for strict tasks."""
        return Stages(self._desk)

    @cached_property
    def actions(self) -> Actions:
        """Verbs for the account of calls."""
        return Actions(self._desk)

    @cached_property
    def health(self) -> Health:
        """Verbs for the condition of the project."""
        return Health(self._desk)

    @cached_property
    def phases(self) -> Phases:
        """Verbs for handing phases over."""
        return Phases(self._desk)

    @cached_property
    def requests(self) -> Requests:
        """Verbs for changes that are handed in."""
        return Requests(self._desk)

    @cached_property
    def workspaces(self) -> Workspaces:
        """Verbs for the trees that work is done in."""
        return Workspaces(self._desk)

    @cached_property
    def documents(self) -> Documents:
        """Verbs for documents that are kept to be found."""
        return Documents(self._desk)

    @cached_property
    def notebooks(self) -> Notebooks:
        """Verbs for what roles remember."""
        return Notebooks(self._desk)

    @cached_property
    def runs(self) -> Runs:
        """Verbs for runs of agents."""
        return Runs(self._desk)

    @cached_property
    def redaction(self) -> Redaction:
        """Verbs for taking away."""
        return Redaction(self._desk)

    @cached_property
    def feed(self) -> Following:
        """Verbs for following the ledger."""
        return Following(self._desk)

    @cached_property
    def overview(self) -> Overview:
        """Verbs for looking at the whole."""
        return Overview(self._desk)

    @cached_property
    def tokens(self) -> Tokens:
        """Verbs for access from other machines."""
        return Tokens(self._desk)

    @cached_property
    def meters(self) -> Meters:
        """Verbs for what is counted of use."""
        return Meters(self._desk)

    @cached_property
    def precedence(self) -> Precedence:
        """Verbs for what has to come first."""
        return Precedence(self._desk)
