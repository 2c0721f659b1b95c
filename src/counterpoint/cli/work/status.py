"""The state of the project: counts, who is at what, what waits for whom."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final, NamedTuple

from counterpoint.app import App
from counterpoint.cli.context import CommandContext
from counterpoint.cli.output import Output, one_line
from counterpoint.cli.phrases import HOW_APART
from counterpoint.cli.present import (
    ahead_in_words,
    headline,
    lease,
    nothing_open,
    present,
    present_briefly,
    progress_in_words,
    span,
)
from counterpoint.cli.trust.caller import caller_in_words, caller_to_json
from counterpoint.cli.trust.describe_keys import recoveries
from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import Awaiting, Live, State
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.trust.heads import Unsigned
from counterpoint.core.model.work import Item
from counterpoint.kernel.acts import say
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, moment
from counterpoint.kernel.errors import CounterpointError, Unavailable
from counterpoint.kernel.places import find_git_fault
from counterpoint.kernel.plurals import agree, counted

if TYPE_CHECKING:
    # Loaded where a project asks for witnesses, and with the first run.
    from counterpoint.core.operations.trust.witness_policy import QuorumStatus
    from counterpoint.dialects.foundry.runs.rows import PausedRun

_CATEGORIES: Final = ("open", "active", "review", "done", "dropped")
_LINES: Final = 20
"""How many lines of open work are shown."""
_SIGNED: Final = "a review by a person who signs"
_UNTOLD: Final = (
    "Nothing tells you from the agents that worked there (none attests them, or what started them has ended), so that only a key"
    " makes a judge somebody else ({})."
    " Give agents a credential before they start work: `counterpoint agent create NAME`."
)
_SOON: Final = 300
"""Seconds before the end of a lease from which on it is said to run out."""


def show_state(context: CommandContext, *, is_long: bool = False) -> None:
    """Say how the project stands: as JSON, or in words and tables, work first.

    is_long: also who looks at it, what signs the ledger, and counts of all that ever was.
    """
    core = context.core
    with core.one_moment():
        state, awaiting = core.overview.state(), core.awaiting.list()
        unsigned = core.signing.unsigned()
        below = core.overview.progress(state.roots)
        progress = {name: part.by_category() for name, part in below.items()}
        lacking = core.permitted.lacking_now()
        untold = core.awaiting.untold([each.item.id for each in awaiting if each.step == "review"])
        runs = paused_runs(core)
        quorum = quorum_standing(core)
        signers, proposals = describe_joint_acts(core)
        waiting = [
            *proposals,
            *list_due(state, awaiting, core.awaiting.approvals(), lacking, untold, runs),
            *stuck_due(core, state),
            *endings_due(core, state.now),
        ]
    if context.out.json:
        context.out.answer(
            {
                **_state(state, progress, unsigned),
                "awaiting": [
                    {
                        "item": present_briefly(each.item),
                        "step": each.step,
                        "rejection": present(each.rejection) if each.rejection else None,
                    }
                    for each in awaiting
                ],
                "waiting_for_you": [each._asdict() for each in waiting],
                "you": caller_to_json(context.app, core),
                "recovered": [*recoveries(core)],
                "quorum": _quorum(quorum),
                "signers": signers,
                "embedding": _embedding(core),
                "checks": _lacking(lacking),
                "git": _refusal_of_git(context.app),
            }
        )
        return
    _print_head(context.out, state, unsigned)
    _print_quorum(context.out, quorum)
    for_agents = [each for each in awaiting if is_for_agents(each, runs)]
    remarks = [f"You: {why}"] if waiting and (why := _why_not_you(context)) else []
    if any(due.what == _SIGNED for due in waiting):
        remarks.insert(0, _UNTOLD.format(_way_to_sign(context)))
    _print_work(context.out, state, for_agents, waiting, remarks)
    _print_open(context.out, core, state)
    for warning in _warnings(context):
        context.out.line()
        context.out.line(warning, style="yellow")
    if is_long:
        _print_long(context, core, state, unsigned, progress)


def _embedding(core: Core) -> Json:
    """Return how many texts are found by their meaning, and by which model; null for none, as is set or while it cannot be had."""
    try:
        covered = core.embedding.coverage()
    except CounterpointError:
        return None
    if covered is None:
        return None
    ready, every = covered
    return {"model": core.embedding.model, "embedded": ready, "passages": every}


def _print_head(out: Output, state: State, unsigned: Unsigned) -> None:
    """Print how far the work is, and what keeps the ledger from being believed."""
    out.line(f"{state.project.heading}: {progress_in_words(state.counts)}", style="bold")
    if state.ahead:
        out.line(f"Clock: {ahead_in_words(state.ahead)}", style="yellow")
    if unsigned.broken:
        out.line(f"Broken: {unsigned.why}; run `counterpoint audit verify`.", style="red")
    elif unsigned.why and (unsigned.waiting or not unsigned.away):
        out.aside(_waiting(unsigned, state))


def _print_work(
    out: Output,
    state: State,
    awaiting: Sequence[Awaiting],
    due: Sequence[Due],
    remarks: Sequence[str],
) -> None:
    """Print what waits for whom, and who is at what.

    awaiting: what waits for agents. remarks: why whoever looks cannot decide what waits, or what that takes.
    """
    _section(out, "Waiting for you", ("id", "what", "title", "run"), [tuple(each) for each in due])
    for remark in remarks:
        out.line(remark, style="yellow")
    _section(
        out,
        "Waiting for agents",
        ("id", "for what", "title"),
        [(each.item.id, for_what(each), one_line(each.item.title)) for each in awaiting],
    )
    live = [
        (live.item.id, live.claim.agent, left_of(live, state.now), one_line(live.item.title))
        for live in state.live
    ]
    is_open = any(_unclosed(categories) for categories in state.counts.values())
    nobody = "Nobody holds anything: `counterpoint next` shows what is ready." if is_open else ""
    _section(out, "Held now", ("id", "by", "lease", "title"), live, nobody)


def _way_to_sign(context: CommandContext) -> str:
    """Return in words with which key whoever looks signs, or how they get one."""
    # Loaded with the first work that only a key can judge.
    from counterpoint.cli.trust.signing import find_key

    key = find_key(context.app, context.core)
    return (
        f"yours is {key.id}: `counterpoint approve` signs with it"
        if key
        else "`counterpoint key add`"
    )


def _why_not_you(context: CommandContext) -> str:
    """Return in words why whoever looks can decide nothing, and what he does about it; empty for a person."""
    core = context.core
    if core.caller.actor.kind != "human":
        return caller_in_words(context.app, core)
    why = caller_to_json(context.app, core)["why_no_person"]
    if not why:
        return ""
    from counterpoint.cli.phrases import PHRASES

    try:
        return f"{why}. {say(core.identities.way_past_doubt(), PHRASES)}"
    except Unavailable as silent:
        return f"{why}. {silent.hint_in(PHRASES)}"


def _unclosed(categories: Mapping[str, int]) -> int:
    return sum(categories.get(category, 0) for category in UNCLOSED)


def _print_open(out: Output, core: Core, state: State) -> None:
    """Print the first lines of the tree of open work."""
    lines = core.overview.tree(UNCLOSED, limit=_LINES)
    rows = [
        (item.id, item.status, f"{'  ' * depth}{one_line(item.title)}{waiting_mark(item)}")
        for depth, item in lines
    ]
    _section(out, "Open work", ("id", "status", "title"), rows, nothing_open(state.counts))
    more = sum(map(_unclosed, state.counts.values())) - len(lines)
    if more > 0:
        out.line(f"and {more:,} more: `counterpoint list`")


def waiting_mark(item: Item) -> str:
    """Return what stands behind the title of open work that something is in the way of."""
    return " [waits]" if item.category == "open" and item.blockers > 0 else ""


def _print_long(
    context: CommandContext,
    core: Core,
    state: State,
    unsigned: Unsigned,
    progress: dict[str, dict[str, int]],
) -> None:
    """Print who looks at the ledger and what it is, and counts of all that ever was in it."""
    out = context.out
    counts = [
        (kind, *(str(categories.get(category, 0)) for category in _CATEGORIES))
        for kind, categories in state.counts.items()
    ]
    _section(out, "Work", ("kind", *_CATEGORIES), counts)
    roots = [
        (root.id, root.kind, root.status, _share(progress[root.id]), one_line(root.title))
        for root in state.roots
    ]
    _section(out, "At the top", ("id", "kind", "status", "done", "title"), roots)
    age = f", the last {span(state.now, state.last_entry_at)} ago" if state.last_entry_at else ""
    out.line()
    out.line(f"Ledger: {counted(state.ledger_size, 'entry')}{age}")
    if unsigned.waiting and not (unsigned.why or unsigned.broken):
        out.line(f"Signatures: {_waiting(unsigned, state)}")
    out.line(f"Reviews: {state.project.reviews}")
    out.line(f"You: {caller_in_words(context.app, core)}")
    if not context.app.is_remote:
        out.line(
            f"Apart: what runs as you can write ledger and signer; {HOW_APART} gives them an account of their own."
        )


def paused_runs(core: Core) -> list[PausedRun]:
    """Return the unattended runs that are paused, each with the reason; what looks at them is loaded where there ever was one."""
    if not core.overview.has_happened("run.started"):
        return []
    from counterpoint.dialects.foundry.runs.sessions import Watching

    return core.use(Watching).paused()


def describe_joint_acts(core: Core) -> tuple[Json, list[Due]]:
    """Return what is said of acts that several people sign, and what of them waits; loaded where a project ever asked for it."""
    if not core.overview.has_happened("signers.changed"):
        return None, []
    from counterpoint.cli.trust.signing import command_of, open_proposals, present_proposal, said_of

    answer = open_proposals(core)
    if answer is None:
        return None, []
    joint, proposals = answer
    due = [
        Due(
            proposal.id,
            "signatures of people",
            f"{proposal.act}: {said_of(joint, proposal)}",
            command_of(proposal),
        )
        for proposal in proposals
    ]
    presented: list[Json] = [present_proposal(joint, proposal) for proposal in proposals]
    return {"required": joint.threshold, "proposals": presented}, due


def quorum_standing(core: Core) -> QuorumStatus | None:
    """Return who of the witnesses that must sign has signed; None where none must. Loaded where a project ever asked for any."""
    if not core.overview.has_happened("quorum.changed"):
        return None
    standing = core.witness_policies.standing()
    return standing if standing.policy.count else None


def _quorum(standing: QuorumStatus | None) -> Json:
    if standing is None:
        return None
    from counterpoint.cli.trust.quorum import present_standing

    return present_standing(standing)


def _print_quorum(out: Output, standing: QuorumStatus | None) -> None:
    if standing is not None:
        from counterpoint.cli.trust.quorum import print_standing

        print_standing(out, standing, style="" if standing.fault is None else "yellow")


def is_for_agents(awaiting: Awaiting, runs: Iterable[PausedRun]) -> bool:
    """Return whether agents can do what an item waits for: neither a review nor a gate that stopped a run."""
    gates = {run.item for run in runs if run.is_gate}
    return awaiting.step != "review" and awaiting.item.id not in gates


class Due(NamedTuple):
    """One thing that a person can do now. run: the command that does it."""

    id: str
    what: str
    title: str
    run: str


def list_due(
    state: State,
    awaiting: Iterable[Awaiting],
    held_back: Iterable[Item],
    lacking: Lacking,
    untold: Collection[str] = (),
    runs: Iterable[PausedRun] = (),
) -> Iterator[Due]:
    """Return what waits for a person: verdicts, starts to be approved, blockers, leases that have run out, checks to be allowed.

    untold: the items that were worked on by somebody whom nothing attests, so that only a signature tells their judge apart.
    runs: the unattended runs that are paused.
    """
    for run in runs:
        go_on = f"counterpoint supervise {run.spec} --resume -- AGENT…"
        command = f"counterpoint approve {run.item}" if run.is_gate else go_on
        what = "a gate of a paused run" if run.is_gate else "a paused run"
        yield Due(run.item, f"{what}: {run.why}", one_line(run.title), command)
    for each in awaiting:
        if each.step == "review" and each.item.id in untold:
            id_ = each.item.id
            yield Due(id_, _SIGNED, one_line(each.item.title), f"counterpoint approve {id_}")
        elif each.step == "review" and (not each.is_mine or state.project.reviews == "self"):
            id_ = each.item.id
            yield Due(id_, "a review", one_line(each.item.title), f"counterpoint approve {id_}")
        elif each.step == "review":
            what, run = "a review by others", "counterpoint agent create reviewer"
            yield Due(each.item.id, what, one_line(each.item.title), run)
    for item in held_back:
        yield Due(item.id, "its start", one_line(item.title), f"counterpoint approve {item.id}")
    for record in state.blockers:
        about = record.item or record.id
        what = f"a blocker of {record.agent}"
        yield Due(about, what, headline(record), f"counterpoint unblock {record.id}")
    for live in state.live:
        if live.is_abandoned(state.now):
            id_, what = live.item.id, f"{live.claim.agent} is gone"
            yield Due(id_, what, one_line(live.item.title), f"counterpoint release {id_}")
    yield from _checks_due(lacking)


def stuck_due(core: Core, state: State) -> Iterator[Due]:
    """Return what was given up and open work waits for; it is looked for where anything was."""
    if any(categories.get("dropped") for categories in state.counts.values()):
        for needed, waiter in {
            needed.id: (needed, id_) for needed, id_ in core.ready.stuck()
        }.values():
            what = f"{needed.status}, and {waiter} waits for it"
            yield Due(needed.id, what, one_line(needed.title), f"counterpoint reopen {needed.id}")


def endings_due(core: Core, now: Timestamp) -> Iterator[Due]:
    """Return the tokens and credentials that end within a week, or have ended in the last."""
    for token in core.awaiting.renewals():
        # Few have such a one.
        from counterpoint.cli.local_time import local_time

        what, command = ("credential", "agent") if token.kind == "agent" else ("token", "token")
        ends = "has ended" if token.expires_at <= now else f"ends {local_time(token.expires_at)}"
        renew = f"counterpoint {command} renew {token.name}"
        yield Due(token.id, f"a {what} that {ends}", token.name, renew)


def _checks_due(lacking: Lacking) -> Iterator[Due]:
    """Return which commands of checks wait to be allowed; one line where the file that lists them is to be looked at."""
    if not (lacking.why or lacking.commands):
        return
    # What words it is loaded for few looks.
    from counterpoint.core.rules.trust.commands import OLDER, allowing_line

    if lacking.why:
        command = "counterpoint audit verify" if lacking.why == OLDER else "counterpoint trust"
        yield Due("", "checks to be allowed", one_line(lacking.why), command)
        return
    for argv, item in zip(lacking.commands, lacking.items, strict=True):
        yield Due(item, "a check to be allowed", one_line(" ".join(argv)), allowing_line([argv]))


def left_of(live: Live, now: Timestamp) -> str:
    """Return how long a claim still holds; one that ends soon says that first, and has its colour."""
    claim, words = live.claim, lease(live.claim, now, live.departure)
    if live.departure is not None and claim.is_live(now):
        return words
    if not claim.is_live(now):
        return f"ran out, {words.removeprefix('ran out ')}"
    seconds_left = (moment(claim.leased_until) - moment(now)).total_seconds()
    return f"running out, {words}" if seconds_left < _SOON else words


def _warnings(context: CommandContext) -> Iterator[str]:
    """Return what a person should look after, of keys, of commands and of git."""
    core = context.core
    yield from (f"Keys: {key}" for key in recoveries(core))
    if refusal := _refusal_of_git(context.app):
        yield f"Git: evidence is a comparison of file hashes until this is mended: {refusal}"


def _refusal_of_git(app: App) -> str:
    """Return why git says nothing about the repository here; empty if it does, or if there is none.

    Git is asked only where something speaks for it, since it would cost every look a process.
    """
    tree = app.places.tree
    if fault := find_git_fault(str(tree)):
        return fault
    mark = tree / ".git"
    try:
        own = {os.geteuid()} == {tree.stat().st_uid, mark.stat().st_uid}
    except OSError:
        return ""
    folders = app.environ.get("PATH", "").split(os.pathsep)
    if own and any(os.access(f"{folder}/git", os.X_OK) for folder in folders):
        return ""
    from counterpoint.evidence.git.opened import OpenTrees

    opened = OpenTrees().find(tree, app.environ)
    return opened if isinstance(opened, str) else ""


def _lacking(lacking: Lacking) -> str:
    """Return in words which commands of checks would not be run; empty if all would."""
    if not (lacking.why or lacking.commands):
        return ""
    # What words it is loaded for few looks, as below.
    from counterpoint.dialects.lacking import said_of_lacking

    return said_of_lacking(lacking)


def for_what(awaiting: Awaiting) -> str:
    """Return in words what an item waits for that no review is due of."""
    if awaiting.step == "mend":
        from counterpoint.dialects.next_step import why_back

        return f"its repair, {one_line(why_back(awaiting, 200), 200)}"
    return "an agent that hands it in, or `counterpoint approve`"


def _waiting(unsigned: Unsigned, state: State) -> str:
    age = f", for {span(Timestamp(unsigned.since), state.now)}" if unsigned.since else ""
    why = f": {unsigned.why}" if unsigned.why else ""
    return f"{agree(unsigned.waiting, 'entry', 'waits')} for a signature{age}{why}"


def _section(
    out: Output,
    title: str,
    headings: tuple[str, ...],
    rows: list[tuple[str, ...]],
    nothing: str = "",
) -> None:
    if rows or nothing:
        out.line()
        out.line(title, style="bold")
        if rows:
            out.table(headings, rows)
        else:
            out.line(nothing)


def _share(progress: dict[str, int]) -> str:
    total = sum(progress.values())
    return f"{progress.get('done', 0)}/{total}" if total else "-"


def _state(state: State, progress: dict[str, dict[str, int]], unsigned: Unsigned) -> Json:
    return {
        "project": present(state.project) | {"id": state.project.project},
        "counts": state.counts,
        "roots": [{**present_briefly(root), "progress": progress[root.id]} for root in state.roots],
        "live": [
            {
                "claim": present(live.claim),
                "item": present_briefly(live.item),
                "lease": lease(live.claim, state.now, live.departure),
                "gone": asdict(live.departure) if live.departure else None,
            }
            for live in state.live
        ],
        "blockers": [present(blocker) for blocker in state.blockers],
        "in_review": [present_briefly(item) for item in state.in_review],
        "ledger": {
            "size": state.ledger_size,
            "last_entry_at": state.last_entry_at,
            "ahead": asdict(state.ahead) if state.ahead else None,
            "signed": unsigned.signed,
            "waiting_since": unsigned.since,
            "not_signed_because": unsigned.why,
            "broken": unsigned.broken,
        },
        "now": state.now,
    }
