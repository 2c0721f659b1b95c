"""Who worked on what and does not judge it, or loosened it and does not do it.

Rule 1: a part is written down where work is taken up, handed in or moved on. It is one in everything above the
item, so that one look at an item tells who may judge it: whoever worked below it has a part in it. Rule 2: a mark of
whoever loosened an item stands at that item alone, or at the project; it is looked for from the item that is taken up
to its root, and goes along when an item below it is moved away.
Beside the bearer of a credential stands the
process that hosted him. Rule 3: to loosen what nobody has worked on is open to all but for rule 2; later it is for people and maintainers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile
from shlex import quote
from typing import Final, Literal, NoReturn

from counterpoint.core.model.access import Independence
from counterpoint.core.model.identity import Connection, Contribution, Part, Succession
from counterpoint.core.model.journal import Outcome, Submission
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Gate, Item, Project
from counterpoint.core.operations.recording.authority import caller_authority, refuse_untold, way_on
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Caller
from counterpoint.core.operations.recording.facets import line_of
from counterpoint.core.ports.store import Query, Reading
from counterpoint.core.rules.claims import NO_PAST, Dependence, Past, dependence, principal_id_of
from counterpoint.core.rules.trust.callers import (
    ENTITLED,
    PEOPLE,
    asked_of,
    has_same_name,
    independence,
    may_loosen_all,
    suffices,
    worker_names,
)
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Forbidden

SIGNED_FROM: Final = ""
"""The session of a succession of a person's key: it succeeds whoever sits where it signed, not a session."""
PROJECT: Final = ""
"""Where the mark of whoever loosened what is asked of all work stands."""
_WHY: Final[dict[Dependence | Literal["launcher", "submitter"], str]] = {
    "own": "{name} worked on {item} and cannot {act} it",
    "submitter": "{name} handed {item} in and cannot {act} it",
    "unattested": "Counterpoint cannot tell {name} from whoever worked on {item}: one of the two is known only by a name."
    " So {name} cannot {act} it",
    "launcher": "what started {name} also started {workers}, which worked on {item}: both may be one agent."
    " So {name} cannot {act} it",
    "orphan": "Counterpoint cannot tell {name} from the agent that worked on {item}: what started one of the two has ended, so"
    " that both may be one. So {name} cannot {act} it",
}
_ASKED: Final[dict[Independence, str]] = {
    "self": "two names",
    "declared": "two names",
    "attested": "two attested principals",
    "person": "a person with a key",
}


def contribute(change: Change, item: str) -> None:
    """Write down that the caller has a part in an item, and so in all above it."""
    caller = change.context.caller
    principal = principal_id_of(caller.actor)
    if caller.connection is not None and caller.connection.id != principal:
        _host(change, line_of(change, item), caller.connection.id)
    for ancestor in line_of(change, item):
        # Whoever has a part in something has one in all above it already.
        if not _note(change, ancestor.id, principal, "worked"):
            return


def note_part(change: Change, item: str, *, below: str = "") -> None:
    """Write down that the caller has a part in what he takes up; Forbidden if he loosened it.

    below: where to stop; whoever says so takes that up later.
    """
    caller = change.context.caller
    actor, principal = caller.actor, principal_id_of(caller.actor)
    line = [*takewhile(lambda ancestor: ancestor.id != below, line_of(change, item))]
    marks = _marks_in(change, line)
    loosened = next((mark for mark in marks if mark.how == "loosened"), None)
    if loosened is not None:
        what = loosened.item or "this project"
        raise Forbidden(
            f"{actor.name} changed what {what} asks for, and whoever does that may not do the work",
            hint=f"{Act.TAKE_OTHER_WORK}, or leave it to a person.",
        )
    # A process may have hosted somebody here before it works itself: that is another part.
    worked = {mark.item for mark in marks if (mark.principal, mark.how) == (principal, "worked")}
    for holder in line:
        if holder.id not in worked:
            _put(change, holder.id, principal, "worked")
    if caller.connection is not None and caller.connection.id != principal:
        _host(change, line, caller.connection.id)


def relaxed_by(view: Reading, caller: Caller) -> frozenset[str]:
    """Return the items, `PROJECT` among them, that a caller made easier to begin or to finish, and so does no work of."""
    return frozenset(mark.item for mark in relaxed_query(caller).rows(view))


def relaxed_query(caller: Caller) -> Query[Contribution]:
    """Return what asks for the marks of `relaxed_by`."""
    return Query(Contribution, {"principal": selves(caller), "how": "loosened"})


def inherit(change: Change, item: str, above: str) -> None:
    """Give everybody with a part in an item the same in what it has been put below."""
    parts = change.select(Contribution, item=item)
    for part in parts:
        if part.how != "loosened":
            for ancestor in line_of(change, above):
                _note(change, ancestor.id, part.principal, part.how)


def carry_marks(change: Change, item: str, above: str) -> None:
    """Let whoever loosened what an item stood below not do it where it stands now either."""
    over = {ancestor.id for ancestor in line_of(change, item)}
    for mark in list_relaxations(change.writing, above):
        if mark.item not in over:
            _note(change, item, mark.principal, "loosened")


def list_relaxations(view: Reading, item: str) -> list[Contribution]:
    """Return the marks of whoever loosened an item, or anything above it."""
    return [
        mark
        for ancestor in line_of(view, item)
        for mark in view.select(Contribution, item=ancestor.id, how="loosened")
    ]


def mark_relaxed(change: Change, item: str) -> None:
    """Write down that the caller made an item easier to finish or to begin; people do no work of agents."""
    if caller_authority(change) not in PEOPLE:
        _note(change, item, principal_id_of(change.context.caller.actor), "loosened")


def relax_project(change: Change, act: str) -> None:
    """Pass who may take away what a project asks of all work, as the same of an item; Forbidden.

    act: what he would do, as in `take gates from`. The mark is one of all work of the project.
    """
    caller = change.context.caller
    principals = selves(change.context.caller)
    if change.writing.exists(Contribution, how="worked"):
        has_worked = change.writing.exists(Contribution, principal=principals, how="worked")
        policy = change.get(Project).reviews
        is_sure = policy != "person" or suffices(independence(caller.actor, ()), policy)
        if not is_sure or not may_loosen_all(caller_authority(change), has_worked=has_worked):
            raise Forbidden(
                f"work has begun: {caller.actor.name} cannot {act} this project",
                hint=f"{Act.CONFIGURE}.",
            )
    mark_relaxed(change, PROJECT)


def relax(
    change: Change, item: str, act: str, *, opens: bool = False, instead: Act = Act.WAIVE
) -> Independence:
    """Return how surely a caller who would loosen an item has no part in it; Forbidden if he may not.

    act: what he would do, as in `waive a gate of`. opens: whether that opens a gate. Where a project asks for a person,
    that takes one, and so does everything once work has begun. instead: what others do about it, where that is no gate.
    """
    has_begun = change.writing.exists(Contribution, item=item, how="worked")
    counts = change.get(Project).reviews == "person" and (opens or has_begun)
    certainty = refuse_own(change, item, act, instead, counts=counts)
    caller = change.context.caller
    if has_begun and caller_authority(change) not in ENTITLED:
        raise Forbidden(
            f"work on {item} has begun: {caller.actor.name} cannot {act} it",
            hint=way_on(change.writing, change.context, instead),
        )
    mark_relaxed(change, item)
    return certainty


def refuse_own(
    change: Change, item: str, act: str, instead: Act = Act.REVIEW, *, counts: bool = False
) -> Independence:
    """Return how surely a caller who would `act` on an item has no part in it; Forbidden if he has one.

    counts: whether that has to be as sure as the project asks of reviews.
    """
    caller = change.context.caller
    refuse_untold(change, f"{act} {item}", instead)
    parts = change.select(Contribution, item=item)
    others = change.select(Connection, id=tuple(part.principal for part in parts)) if parts else []
    marks: list[Claim | Outcome | Submission] = [
        *change.select(Claim, item=item),
        *change.select(Outcome, item=item),
        *change.select(Submission, item=item),
    ]
    sessions = {mark.session for mark in marks}
    policy = asked_of(change.get(Project).reviews, caller_authority(change))
    past = past_of(change, change.get(Item, item)) if parts else NO_PAST
    own, boot = caller.connection, caller.origin.boot
    why = dependence(caller.actor, parts, sessions, own, others, past=past, boot=boot)
    if why is not None and policy == "self":
        return "self"
    if why not in {None, "own"} and policy == "declared":
        why = "own" if has_same_name(caller.actor, parts, others) else None
    unasked = _unasked(change, item) if why is not None and act == "judge" else ""
    if why == "own":
        workers = worker_names(parts, others) | {mark.agent for mark in marks if mark.agent}
        _refuse_worker(
            change, item, act, unasked or _ways_of_others(change, instead), parts, workers
        )
    if why is not None:
        raise Forbidden(
            _WHY[why].format(name=caller.actor.name, item=item, act=act),
            hint=unasked or _way_past_doubt(change, instead),
        )
    certainty = independence(caller.actor, parts)
    if counts and not suffices(certainty, policy):
        raise Forbidden(
            f"this project asks for {_ASKED[policy]}: {caller.actor.name} cannot {act} {item}",
            hint=f"{Act.SIGN}."
            if policy == "person"
            else f"{_sure(change, instead)}; {Act.ASK_LESS}.",
            reviews=policy,
            independence=certainty,
        )
    return certainty


def _refuse_worker(
    change: Change,
    item: str,
    act: str,
    hint: str,
    parts: Iterable[Contribution],
    workers: Collection[str],
) -> NoReturn:
    """Raise Forbidden: the caller worked on an item, or only shares its launcher with `workers` who did."""
    actor = change.context.caller.actor
    has_worked = actor.name in workers or (
        actor.principal is not None
        and actor.principal.strength == "credential"
        and any(part.principal == actor.principal.id for part in parts)
    )
    if _has_only_submitted(change, item):
        raise Forbidden(_WHY["submitter"].format(name=actor.name, item=item, act=act), hint=hint)
    if actor.kind != "agent" or has_worked or not workers:
        raise Forbidden(_WHY["own"].format(name=actor.name, item=item, act=act), hint=hint)
    names = ", ".join(sorted(workers))
    raise Forbidden(
        _WHY["launcher"].format(name=actor.name, item=item, act=act, workers=names),
        hint=f"{hint} A credential tells it apart in later work: a person runs"
        f" `counterpoint agent create {quote(actor.name)}`.",
    )


def _has_only_submitted(change: Change, item: str) -> bool:
    """Return whether the caller's session handed an item in, and took up nothing of it or below it."""
    caller = change.context.caller
    own = {"item": item, "session": caller.actor.session}
    if not change.select(Submission, **own) or change.select(Claim, **own):
        return False
    children = tuple(child.id for child in change.select(Item, parent=item))
    return not children or not change.select(
        Contribution, item=children, principal=selves(caller), how="worked"
    )


def _unasked(change: Change, item: str) -> str:
    """Return that nobody has to judge an item; empty if it asks for a review, or something of it was handed in."""
    submissions = change.select(Submission, item=item)
    if any(row.is_live for row in submissions) or change.select(Gate, item=item, kind="review"):
        return ""
    current = change.get(Item, item)
    ends = f", and is {current.status}" if current.is_closed else ": whoever works on it ends it"
    return f"It asks for no review{ends}."


def _ways_of_others(change: Change, instead: Act) -> str:
    """Return who else may judge; to a person also how people who work alone go on."""
    is_agent = change.context.caller.actor.kind == "agent"
    return f"{instead}." if is_agent else f"{Act.WORK_ALONE}."


def _way_past_doubt(change: Change, instead: Act) -> str:
    """Return what helps whom nothing tells from who worked: no credential does that for what is there."""
    others = f"{instead}. " if change.context.caller.actor.kind == "agent" else ""
    return f"{others}{Act.SIGN}. {Act.CREDENTIAL}."


def _sure(change: Change, instead: Act) -> Act:
    """Return what makes an act as sure as is asked: to a person his key, to an agent that another does it."""
    return instead if change.context.caller.actor.kind == "agent" else Act.SIGN


def past_of(change: Change, item: Item) -> Past:
    """Return who the caller was before, as far as it bears on an item; as many looks as he was started again.

    A person is also each terminal that his key has signed from, and in any of these he is the key.
    """
    caller = change.context.caller
    formers: dict[str, bool] = {}
    sessions: set[str] = set()
    waiting = {principal_id_of(caller.actor)}
    if caller.actor.is_signed and caller.origin.process is not None:
        formers[caller.origin.process.id] = True
        waiting.add(caller.origin.process.id)
    if caller.actor.kind == "human":
        keys = change.select(Succession, former=tuple(waiting), session=SIGNED_FROM)
        waiting |= {key.principal for key in keys}
    while waiting:
        rows = change.select(Succession, principal=tuple(waiting))
        waiting = {row.former for row in rows if row.is_whole} - formers.keys()
        sessions |= {row.session for row in rows}
        # What holds work has no session of its own, so there the principal counts.
        formers |= {
            row.former: row.is_whole for row in rows if row.is_whole or not item.is_workable
        }
    return Past(formers, sessions)


def _marks_in(change: Change, line: Sequence[Item]) -> list[Contribution]:
    """Return what is written down at some items of the caller, and of the process that hosts him, at the nearest first.

    With a root comes what is written down at the project.
    """
    places = [ancestor.id for ancestor in line]
    if any(not ancestor.parent for ancestor in line):
        places.append(PROJECT)
    marks = change.select(Contribution, item=tuple(places), principal=selves(change.context.caller))
    return sorted(marks, key=lambda mark: places.index(mark.item))


def selves(caller: Caller) -> tuple[str, ...]:
    """Return a caller's principal, and the process that hosts it."""
    principal = principal_id_of(caller.actor)
    return principal, caller.connection.id if caller.connection else principal


def _host(change: Change, line: Iterable[Item], process: str) -> None:
    """Write down through which process the bearer of a credential works: without it, it is the same one."""
    for ancestor in line:
        if not _note(change, ancestor.id, process, "hosted"):
            return


def _note(change: Change, item: str, principal: str, how: Part) -> bool:
    """Return whether a part was not known yet, and is now."""
    if change.find(Contribution, item, principal, how) is not None:
        return False
    _put(change, item, principal, how)
    return True


def _put(change: Change, item: str, principal: str, how: Part) -> None:
    change.put(
        Contribution(project=change.context.project, item=item, principal=principal, how=how)
    )
    # Another's session may be the one that is written in: then nothing was kept when it was opened.
    change.keep_connection()
