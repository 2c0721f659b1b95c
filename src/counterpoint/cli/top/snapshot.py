"""How a project stands at one moment, as the rows of the panes of the live view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from counterpoint.cli.context import CommandContext
from counterpoint.cli.output import flat
from counterpoint.cli.present import span
from counterpoint.cli.trust.caller import caller_in_words
from counterpoint.cli.work.log import Lines
from counterpoint.cli.work.status import for_what, is_for_agents, left_of, list_due, paused_runs
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.answers import Awaiting, State
from counterpoint.core.model.filters import ReadyFilter
from counterpoint.core.model.identity import Connection
from counterpoint.core.model.sessions import SessionFilter, SessionView
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.plurals import counted

READY: Final = 100
SESSIONS: Final = 50
EVENTS: Final = 200
"""How many rows a pane has at most."""
_TRUST: Final = "counterpoint trust"

HEADINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "waiting": ("id", "what", "title"),
    "agents": ("agent", "holds", "last heard of", "session"),
    "claims": ("id", "by", "lease", "title"),
    "ready": ("id", "prio", "title", "why"),
    "events": ("when", "who", "what", "about"),
}
"""The panes in their order, and what their columns are called."""


class Row(NamedTuple):
    """One row of a pane. id: what `show` is asked for, and what is acted on; empty for neither."""

    key: str
    id: str
    cells: tuple[str, ...]


class Snapshot(NamedTuple):
    """What the view shows. last: the sequence of the last entry of the ledger that it knows."""

    head: str
    you: str
    panes: Mapping[str, Sequence[Row]]
    last: int


def read(context: CommandContext) -> Snapshot:
    """Return how the project stands now; Unavailable and the like where it cannot be read."""
    core = context.core
    last = core.feed.last()
    state, awaiting = core.overview.state(), core.awaiting.list()
    return Snapshot(
        head=_head(state),
        you=caller_in_words(context.app, core),
        panes={
            "waiting": [*_waiting(state, awaiting, core)],
            "agents": [*_agents(context, core, state)],
            "claims": [*_claims(state)],
            "ready": [*_ready(core)],
            "events": [*_events(context, core)],
        },
        last=last,
    )


def _head(state: State) -> str:
    done = sum(counts.get("done", 0) for counts in state.counts.values())
    every = sum(sum(counts.values()) for counts in state.counts.values())
    age = f", the last {span(state.now, state.last_entry_at)} ago" if state.last_entry_at else ""
    return f"{flat(state.project.heading)} · {done}/{every} done · {counted(state.ledger_size, 'entry')}{age}"


def _waiting(state: State, awaiting: Sequence[Awaiting], core: Core) -> Iterator[Row]:
    runs = paused_runs(core)
    lacking = core.permitted.lacking_now()
    for entry in list_due(state, awaiting, core.awaiting.approvals(), lacking, runs=runs):
        if entry.run.startswith(_TRUST):
            # Its last word is one of a check; what is shown is what a person types.
            yield Row(
                f"due {entry.id} {entry.title}", entry.id, (entry.id, entry.what, flat(entry.run))
            )
            continue
        # What is to be unblocked is a record; what it is about is its first column.
        name = entry.id if entry.run.endswith("…") else entry.run.rpartition(" ")[2]
        yield Row(f"due {name} {entry.what}", name, (entry.id, entry.what, flat(entry.title)))
    for waiting in awaiting:
        item = waiting.item
        if is_for_agents(waiting, runs):
            yield Row(f"agents {item.id}", item.id, (item.id, for_what(waiting), flat(item.title)))
        elif waiting.step == "review" and waiting.is_mine:
            what = "a review, by somebody else"
            yield Row(f"others {item.id}", item.id, (item.id, what, flat(item.title)))


def _agents(context: CommandContext, core: Core, state: State) -> Iterator[Row]:
    """Return the sessions that are under way, who holds most first, and who is connected besides."""
    counts = dict[str, int]()
    for live in state.live:
        counts[live.claim.session] = counts.get(live.claim.session, 0) + 1
    views = core.sessions.list(SessionFilter(status="active"), None, SESSIONS)
    connected = _connected(context)
    for view in sorted(views, key=lambda view: (-counts.get(view.session.id, 0), view.idle_ms)):
        session = view.session
        holds, heard = str(counts.get(session.id, 0)), _heard(view, state.now, connected)
        yield Row(session.id, session.id, (flat(session.agent), holds, heard, session.id))
    writers = {view.session.principal for view in views}
    for id_, connection in (connected or {}).items():
        if id_ not in writers:
            yield Row(id_, "", (flat(connection.agent), "0", "connected, wrote nothing", id_))


def _connected(context: CommandContext) -> dict[str, Connection] | None:
    """Return the agents that are connected, by their principals; None while a server does not say."""
    try:
        return {connection.id: connection for connection in context.app.ports.connected()}
    except Unavailable:
        return None


def _heard(view: SessionView, now: Timestamp, connected: Mapping[str, Connection] | None) -> str:
    """Return when something last came from a session, and whether its agent is still there."""
    age = f"{span(now, view.last_active_at)} ago"
    principal = view.session.principal
    if connected is None or not principal.startswith("cn_"):
        return age
    return f"{age}, {'connected' if principal in connected else 'gone'}"


def _claims(state: State) -> Iterator[Row]:
    """Return what is held, the lease that ends first first."""
    for live in sorted(state.live, key=lambda live: live.claim.leased_until):
        claim, item = live.claim, live.item
        cells = (item.id, flat(claim.agent), left_of(live, state.now), flat(item.title))
        yield Row(item.id, item.id, cells)


def _ready(core: Core) -> Iterator[Row]:
    for offer in core.ready.offers(ReadyFilter(), READY, None):
        item = offer.item
        cells = (item.id, str(item.priority), flat(item.title), "; ".join(offer.why))
        yield Row(item.id, item.id, cells)


def _events(context: CommandContext, core: Core) -> Iterator[Row]:
    """Return what happened, the latest first."""
    lines = Lines(context, is_long=False)
    for entry in core.audit.log(subject="", action="", limit=EVENTS):
        yield _event(lines, entry)


def _event(lines: Lines, entry: Entry) -> Row:
    _, when, who, what, about = lines.row(entry)
    return Row(
        f"#{entry.sequence}", f"#{entry.sequence}", (when[-8:], flat(who), what, flat(about))
    )
