"""Compares a working tree with a start, and sets apart what others changed in it.

What lies apart is decided in `rules/shared_tree.py`. A take-over begins the evidence anew: what changed between the start
of the agent before and the take-over is listed apart, without the files of others and without what changed again since.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.model.evidence import Apart, Comparison
from counterpoint.core.model.journal import StartPoint
from counterpoint.core.model.runs import StreamEvent
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.core.model.work import Area
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.evidence import snapshot_of
from counterpoint.core.rules.shared_tree import (
    Hold,
    foreign_commits,
    foreign_paths,
    is_named,
    own_commits,
    parse_calls,
    set_apart,
)
from counterpoint.kernel.clock import Timestamp

_MAX_TAKE_OVERS: Final = 20
"""Among how many of the last take-overs of an item, and of sessions, those of a claim are sought."""


def compare_shared(
    context: Context, claim: Claim, point: StartPoint, root: Path
) -> tuple[Comparison, tuple[Apart, ...]]:
    """Return what has changed in a tree since a claim began, and what of that lies apart."""
    # Before the view is opened: git may take seconds.
    comparison = context.ports.evidence.compare(root, snapshot_of(point))
    # The first claim of an item was taken over from nobody.
    if claim.token == 1 and not (comparison.changes or comparison.commits):
        return comparison, ()
    with context.reading() as view:
        before = _start_before(view, claim, point) if claim.token > 1 else None
        since = before[1].taken_at if before else point.taken_at
        is_changed = bool(before or comparison.changes or comparison.commits)
        holds = _holds(view, claim, point.tree, since) if is_changed else {}
        areas = [area.pattern for area in view.select(Area, item=claim.item)] if holds else []
    own, apart = comparison, tuple[Apart, ...]()
    if holds:
        own, apart = _split(context, claim, point, root, comparison, areas, tuple(holds.values()))
    if before is not None:
        others = tuple(hold for item, hold in holds.items() if item != claim.item)
        apart += _left_before(context, root, *before, comparison, areas, others)
    return own, apart


def _split(
    context: Context,
    claim: Claim,
    point: StartPoint,
    root: Path,
    comparison: Comparison,
    areas: list[str],
    holds: tuple[Hold, ...],
) -> tuple[Comparison, tuple[Apart, ...]]:
    """Return what of a comparison is the work of a claim, and what lies apart."""
    agents = foreign_paths([change.path for change in comparison.changes], areas, holds)
    commits = (
        context.ports.evidence.commit_files(root, comparison.commits) if comparison.commits else []
    )
    if not agents and not commits:
        return comparison, ()
    with context.reading() as view:
        events = view.select(StreamEvent, run=claim.session)
    calls = parse_calls(event.payload for event in events if event.time >= point.taken_at)
    is_sole = claim.agent not in {hold.agent for hold in holds}
    own = own_commits(commits, calls, claim.item, claim.agent if is_sole else "")
    committed = {path for commit in own for path in commit.paths}
    agents = {
        path: agent
        for path, agent in agents.items()
        if path not in committed and not is_named(calls, path)
    }
    return set_apart(comparison, agents, foreign_commits(commits, own, areas, holds))


def _holds(view: Reading, claim: Claim, tree: str, since: Timestamp) -> dict[str, Hold]:
    """Return what others held from the same tree at any time since, by item."""
    holds: dict[str, Hold] = {}
    for item, holder, pattern in view.held_areas(tree, since, claim.session):
        before = holds[item].areas if item in holds else ()
        holds[item] = Hold(agent=holder, areas=(*before, pattern))
    return holds


def _start_before(view: Reading, claim: Claim, point: StartPoint) -> tuple[str, StartPoint] | None:
    """Return from whom the work was taken over that began at a point, and with what it had begun there; else None.

    Several that took it over from each other, none of whom ended it, are named together.
    """
    starts = view.select(StartPoint, item=claim.item, order="token desc")
    earlier = [start for start in starts if start.token < claim.token]
    if not earlier or earlier[-1].taken_at == point.taken_at:
        return None
    agents_by_token: dict[int, str] = {}
    for sequence in view.sequences(
        subject=claim.item, action="task.taken_over", limit=_MAX_TAKE_OVERS
    ):
        facts = load_fields(next(view.entries(sequence, sequence + 1)))["f"]
        agents_by_token[int(facts["token"])] = str(facts["taken_over_from"])
    names: list[str] = []
    first, current = point, point.token
    for start in earlier:
        agent = agents_by_token.get(current) or _continued_from(view, claim.item, first)
        if not agent or start.tree != point.tree:
            break
        if start.taken_at < first.taken_at:
            names.append(agent)
        first, current = start, start.token
    return (", ".join(dict.fromkeys(reversed(names))), first) if names else None


def _continued_from(view: Reading, item: str, start: StartPoint) -> str:
    """Return whose session was continued, with the claim of an item, where its work then began; empty if none was."""
    for sequence in view.sequences(action="session.continued", limit=_MAX_TAKE_OVERS):
        entry = load_fields(next(view.entries(sequence, sequence + 1)))
        if entry["t"] == start.taken_at and item in entry["f"].get("claims", ()):
            session = view.find(Session, str(entry["f"]["continues"]))
            return (session.agent or session.id) if session else ""
    return ""


def _left_before(
    context: Context,
    root: Path,
    agent: str,
    start: StartPoint,
    comparison: Comparison,
    areas: list[str],
    holds: tuple[Hold, ...],
) -> tuple[Apart, ...]:
    """Return what changed since an agent began and before a comparison did, but for what lies in areas of others."""
    whole = context.ports.evidence.compare(root, snapshot_of(start))
    seen: Collection[str] = {change.path for change in comparison.changes}
    paths = [change.path for change in whole.changes if change.path not in seen]
    foreign = foreign_paths(paths, areas, holds)
    commits = [commit for commit in whole.commits if commit not in comparison.commits]
    files = context.ports.evidence.commit_files(root, commits) if commits and holds else []
    theirs = foreign_commits(files, (), areas, holds)
    apart = Apart(
        by=agent,
        reason="left_before",
        paths=tuple(path for path in paths if path not in foreign),
        commits=tuple(commit for commit in commits if commit not in theirs),
    )
    return (apart,) if apart.paths or apart.commits else ()
