"""The tool `show`: one thing by its id, in parts that go on at a cursor.

What an id names: `#12` an entry of the ledger, `ses_…` a session, `<prefix>-<letter><number>` a record
(r), receipt (c), submission (s), verdict (v) or handoff (h), anything else an item. An answer has a
header and parts; a part that does not fit, or that has more entries, goes on at its cursor in `more`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeVar, cast

from pydantic import Field

from counterpoint.core.model.answers import Facets
from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.drafts import PLAN_NAME
from counterpoint.core.model.journal import (
    Changeset,
    Outcome,
    Receipt,
    Record,
    Submission,
    Verdict,
)
from counterpoint.core.model.rows import load_object
from counterpoint.core.model.runs import MISSING, TOOL, EventFilter, Run, StreamEvent
from counterpoint.core.model.sessions import Handoff, Session
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.native.words import (
    ENTRY,
    TITLE,
    AnyId,
    Cursor,
    Limit,
    present_facets,
    present_handoff,
    present_handoff_texts,
    present_header,
    present_line,
    present_receipt,
    present_record,
)
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    Part,
    clip,
    fit_parts,
    pages_of,
    part_of_list,
    part_of_rows,
    part_of_text,
    size_of,
    sparse,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, NotFound
from counterpoint.kernel.visible import json_text
from counterpoint.protocol.tools import tool

Include = Literal[
    "children",
    "records",
    "outcomes",
    "receipts",
    "verdicts",
    "submissions",
    "handoffs",
    "log",
    "markdown",
]
_REASON = 500
_WHOLE_TITLE = 2_000
"""Bytes of the longest title that the tools take."""
_LARGEST_ENTRY = 8_000
"""Bytes of an entry that a page holds beside a header."""
_CALL = 1_500
_TOLD = frozenset((TOOL, MISSING, "session_id"))
"""What stands beside the rest of an event, or says nothing here."""
_DIGITS = 10
"""More than the token of any claim has."""
Numbered = TypeVar("Numbered", Record, Receipt, Submission, Verdict, Handoff)

Open = Callable[[Json, int], Part]
"""(where to begin, most entries) → the part from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A thing to show: its header, the parts it always has, and those that can be asked for."""

    header: dict[str, Json]
    parts: dict[str, Open] = field(default_factory=dict[str, Open])
    further: dict[str, Open] = field(default_factory=dict[str, Open])

    def open(self, name: str) -> Open:
        """Return the way to a part; InvalidInput names those there are."""
        reader = self.parts.get(name) or self.further.get(name)
        if reader is None:
            names = ", ".join(self.further) or "nothing more"
            raise InvalidInput(f"{name} cannot be included here", hint=f"There is: {names}.")
        return reader


@tool(reads=True)
def show(
    call: Call,
    id: Annotated[  # noqa: A002 -- the name that agents expect
        AnyId, Field(description="Id of an item, record, receipt, session, …; #12: a ledger entry")
    ],
    include: Annotated[
        tuple[Include, ...], Field(max_length=9, description="Further parts of an item to show")
    ] = (),
    limit: Limit = 20,
    cursor: Annotated[Cursor, Field(description="One of `more`, to read that part on")] = "",
) -> Json:
    """Show one thing by id; long parts continue at the cursors in `more`."""
    view = _thing(call, id)
    pages = pages_of(call, cursor, "show", id, first=None)
    at = pages.at
    if at is None:
        names = [*view.parts, *dict.fromkeys(include)]
        parts = {name: view.open(name)(0, limit) for name in names}
        header = view.header
    else:
        parts = {at["part"]: view.open(at["part"])(at["at"], limit)}
        header = {"id": id}
    budget = PAGE - size_of(header) - RESERVE - 120 * len(parts)
    fields, unread = fit_parts(parts, budget)
    more = {
        name: pages.cursor({"part": name, "at": position})
        for name, position in sorted(unread.items())
    }
    return {**header, **fields, **sparse(more=more), "note": DATA}


def _thing(call: Call, name: str) -> View:
    """Return what an id names; NotFound."""
    if name.startswith("#"):
        return _entry(call, name)
    if "@" in name and (ending := _ending(call, name)) is not None:
        return ending
    noun = noun_of_id(name)
    view = _BY_NOUN.get(noun) if noun is not None else None
    row = call.core.overview.find(noun, name) if noun is not None and view is not None else None
    # A dialect may give an item an id of this form.
    return _item(call, name) if view is None or row is None else view(call, row)


def _ending(call: Call, name: str) -> View | None:
    """Return how the claim of an item with a token ended, or None if `item@token` names none."""
    item, _, token = name.rpartition("@")
    number = int(token) if token.isascii() and token.isdecimal() and len(token) < _DIGITS else 0
    outcome = call.core.overview.find(Outcome, item, number)
    if outcome is None:
        return None
    parts: dict[str, Json] = {
        "summary": outcome.summary,
        "achievements": list(outcome.achievements),
        "limitations": list(outcome.limitations),
        "next_steps": list(outcome.next_steps),
        "remarks": list(outcome.remarks),
        "evidence": outcome.evidence,
    }
    header = {name: part for name, part in _outcome(outcome).items() if name not in parts}
    return _present(header, parts)


def _item(call: Call, name: str) -> View:
    facets = call.core.overview.facets(name)
    parts = present_facets(facets) | _commands(facets) | _waivers(facets)
    return View(
        header={
            **present_header(facets),
            "title": clip(facets.item.title, _WHOLE_TITLE),
            **sparse(name=facets.attributes.get(PLAN_NAME)),
        },
        parts={part: _whole(content) for part, content in parts.items() if content},
        further=_further(call, facets),
    )


def _commands(facets: Facets) -> dict[str, Json]:
    """Return the commands of the checks word by word, where a gate's line does not tell them."""
    commands = [gate.argv for gate in facets.gates if gate.kind == "check"]
    lines = [" ".join(argv) for argv in commands]
    is_told = all(
        line == shlex.join(argv) and size_of(line) <= ENTRY
        for line, argv in zip(lines, commands, strict=True)
    )
    return {} if is_told else {"verify": [list(argv) for argv in commands]}


def _waivers(facets: Facets) -> dict[str, Json]:
    """Return why gates were waived, where that is more than is shown with each."""
    reasons = {f"waiver of {gate.name}": str(gate.reason) for gate in facets.gates}
    return {name: reason for name, reason in reasons.items() if size_of(reason) > _REASON}


def _whole(content: Json) -> Open:
    """Return the way to a part that is known whole."""
    if not isinstance(content, str) and any(size_of(entry) > _LARGEST_ENTRY for entry in content):
        # An entry that no page holds: the list goes on as the text of its JSON.
        content = json_text(content)
    if isinstance(content, str):
        return lambda at, _limit: part_of_text(content, at)
    return lambda at, limit: part_of_list(content, at, limit)


def _further(call: Call, facets: Facets) -> dict[str, Open]:
    item, overview = facets.item.id, call.core.overview
    return {
        "children": lambda at, limit: part_of_rows(
            overview.children(item, tuple(at) if at else None, limit + 1),
            limit,
            present_line,
            lambda child: [child.position, child.number],
            at,
        ),
        "records": _rows(call, Record, item, present_record),
        "outcomes": lambda at, limit: part_of_list(
            [_outcome(outcome) for outcome in overview.outcomes(item)], at, limit
        ),
        "receipts": _rows(call, Receipt, item, present_receipt),
        "verdicts": _rows(call, Verdict, item, _verdict),
        "submissions": _rows(call, Submission, item, _submission),
        "handoffs": _rows(call, Handoff, item, lambda handoff: present_handoff(handoff, 600)),
        "log": lambda at, limit: _log(call, item, at, limit),
        "markdown": lambda at, _limit: part_of_text(overview.markdown(item), at),
    }


def _rows(call: Call, noun: type[Numbered], item: str, fields: Callable[[Numbered], Json]) -> Open:
    def opened(at: Json, limit: int) -> Part:
        rows = call.core.overview.rows(noun, after=at, limit=limit + 1, item=item)
        return part_of_rows(rows, limit, fields, lambda row: row.number, at)

    return opened


def _log(call: Call, item: str, at: Json, limit: int) -> Part:
    entries = call.core.audit.log(subject=item, after=at - 1, limit=limit + 1)
    return part_of_rows(entries, limit, present_entry, lambda entry: entry.sequence + 1, at)


def present_entry(entry: Json) -> dict[str, Json]:
    """Return an entry of the ledger as one line of a log."""
    return sparse(
        entry=f"#{entry.sequence}",
        at=entry.time,
        by=clip(entry.actor.name, TITLE),
        principal=entry.actor.principal.short if entry.actor.principal else "",
        action=entry.action,
        subject=entry.subject,
        facts=clip(json_text(dict(entry.facts)), 300) if entry.facts else "",
    )


def _entry(call: Call, name: str) -> View:
    if not name[1:].isascii() or not name[1:].isdecimal():
        raise NotFound(f"there is no entry {name!r}", hint="Entries count from #0.")
    sequence = min(int(name[1:]), 2**53)
    entry = call.core.audit.entry(sequence)
    rows = [
        sparse(
            table=row.table,
            key=clip("/".join(str(part) for part in row.key.values()), TITLE),
            wrote=sorted(row.values) if row.values is not None else "",
            deleted=row.values is None or None,
        )
        for row in entry.rows
    ]
    header = sparse(
        id=name,
        project=entry.project,
        at=entry.time,
        by=sparse(
            kind=entry.actor.kind,
            name=clip(entry.actor.name, TITLE),
            profile=clip(entry.actor.profile, TITLE),
            session=entry.actor.session,
            principal=entry.actor.principal.short if entry.actor.principal else "",
        ),
        action=entry.action,
        subject=entry.subject,
        previous=entry.previous,
    )
    facts = json_text(dict(entry.facts)) if entry.facts else ""
    return View(header=header, parts={"facts": _whole(facts), "rows": _whole(rows)})


def _of_record(_call: Call, row: Json) -> View:
    record = cast("Record", row)
    header = sparse(
        **{
            name: part
            for name, part in present_record(record).items()
            if name not in {"text", "title"}
        },
        title=clip(record.title, _WHOLE_TITLE),
        session=record.session,
        resolved_by=clip(record.resolved_by, TITLE),
        resolved_at=record.resolved_at,
    )
    parts: dict[str, Json] = {
        "whole_title": record.title if clip(record.title, _WHOLE_TITLE) != record.title else "",
        "text": record.body,
        "tags": list(record.tags),
        "files": list(record.files),
        "resolution": record.resolution,
        "details": record.details,
    }
    return _present(header, parts)


def _of_receipt(_call: Call, row: Json) -> View:
    receipt = cast("Receipt", row)
    header = {
        **present_receipt(receipt),
        **sparse(
            folder=receipt.folder,
            session=receipt.session,
            agent=clip(receipt.agent, TITLE),
            started_at=receipt.started_at,
            output_sha256=receipt.output_sha256,
            signature=receipt.signature,
        ),
    }
    return _present(header, {"argv": list(receipt.argv), "output": receipt.output})


def _of_submission(call: Call, row: Json) -> View:
    submission = cast("Submission", row)
    overview = call.core.overview
    fields, lists = dict[str, Json](), dict[str, Json]()
    for name, value in load_object(submission.details).items():
        (lists if isinstance(value, list) else fields)[name] = value
    verdicts = overview.rows(Verdict, submission=submission.id, latest=True, limit=1)
    header = {
        **sparse(**fields),
        **_submission(submission),
        **sparse(
            path=submission.path,
            judge=clip(verdicts[0].agent, TITLE) if verdicts else "",
            independence=verdicts[0].independence if verdicts else "",
            session=submission.session,
        ),
    }
    header.pop("summary", None)
    parts: dict[str, Json] = {
        "summary": submission.summary,
        "reasons": list(submission.reasons),
        **lists,
        "reason": verdicts[0].reason if verdicts else "",
        "fixes": list(verdicts[0].fixes) if verdicts else [],
    }
    changes = overview.find(Changeset, submission.id)
    if changes is not None:
        header |= {
            "source": changes.source,
            "files": changes.files,
            "lines": changes.additions + changes.deletions,
            "risk": f"{changes.risk_level} ({changes.risk_score})",
        }
        parts |= {
            "remarks": changes.remarks,
            "risks": changes.risk,
            "gates": changes.gates,
            "diff": changes.diff,
        }
    return _present(header, parts)


def _of_verdict(_call: Call, row: Json) -> View:
    verdict = cast("Verdict", row)
    header = sparse(**_verdict(verdict), session=verdict.session)
    header.pop("reason", None)
    header.pop("fixes", None)
    return _present(header, {"reason": verdict.reason, "fixes": list(verdict.fixes)})


def _of_handoff(_call: Call, row: Json) -> View:
    handoff = cast("Handoff", row)
    texts = present_handoff_texts(handoff)
    header = {
        name: part for name, part in present_handoff(handoff, 100).items() if name not in texts
    }
    header.pop("cut", None)
    return _present(header, texts)


def _of_session(call: Call, row: Json) -> View:
    session = cast("Session", row)
    header = sparse(
        id=session.id,
        agent=clip(session.agent, TITLE),
        profile=clip(session.profile, TITLE),
        client=clip(session.client, TITLE),
        status=session.status,
        continues=session.continues,
        started_at=session.started_at,
        ended_at=session.ended_at,
    )
    overview = call.core.overview

    def handoffs(at: Json, limit: int) -> Part:
        rows = overview.rows(Handoff, after=at, limit=limit + 1, session=session.id)
        return part_of_rows(
            rows, limit, lambda row: present_handoff(row, 600), lambda row: row.number, at
        )

    def records(at: Json, limit: int) -> Part:
        rows = overview.rows(Record, after=at, limit=limit + 1, session=session.id)
        return part_of_rows(rows, limit, present_record, lambda row: row.number, at)

    def calls(at: Json, limit: int) -> Part:
        page = call.core.runs.events(EventFilter(run=session.id), limit + 1, at)
        return part_of_rows(page.events, limit, _reported, lambda row: row.number, at)

    parts: dict[str, Open] = {"handoffs": handoffs, "records": records}
    if overview.find(Run, session.id) is not None:
        parts["calls"] = calls
    return View(header=header, parts=parts)


def _reported(event: StreamEvent) -> dict[str, Json]:
    """Return what a hook reported of one call of a tool, or how many are missing."""
    payload = load_object(event.payload)
    tool_name, missing = payload.get(TOOL), payload.get(MISSING)
    other_fields = {name: part for name, part in payload.items() if name not in _TOLD}
    return sparse(
        n=event.number,
        at=event.time,
        tool=clip(tool_name, TITLE) if isinstance(tool_name, str) else "",
        missing=missing,
        said=clip(json_text(other_fields) if payload else event.payload, _CALL),
    )


def _present(header: dict[str, Json], parts: dict[str, Json]) -> View:
    """Return a thing whose parts are known whole."""
    return View(header=header, parts={name: _whole(part) for name, part in parts.items() if part})


def _outcome(outcome: Outcome) -> dict[str, Json]:
    return sparse(
        id=f"{outcome.item}@{outcome.token}",
        token=outcome.token,
        outcome=outcome.outcome,
        agent=clip(outcome.agent, TITLE),
        at=outcome.ended_at,
        summary=clip(outcome.summary, 600),
        achievements=[clip(line, 200) for line in outcome.achievements[:5]],
        limitations=[clip(line, 200) for line in outcome.limitations[:5]],
        next_steps=[clip(line, 200) for line in outcome.next_steps[:5]],
        remarks=[clip(line, 200) for line in outcome.remarks[:5]],
        evidence=clip(outcome.evidence, 1_200),
    )


def _verdict(verdict: Verdict) -> dict[str, Json]:
    return sparse(
        id=verdict.id,
        item=verdict.item,
        submission=verdict.submission,
        verdict=verdict.decision,
        subject=clip(verdict.subject, TITLE),
        reason=clip(verdict.reason, 400),
        fixes=[clip(fix, 200) for fix in verdict.fixes[:5]],
        agent=clip(verdict.agent, TITLE),
        independence=verdict.independence,
        at=verdict.created_at,
    )


def _submission(submission: Submission) -> dict[str, Json]:
    return sparse(
        id=submission.id,
        item=submission.item,
        of=submission.of,
        phase=clip(submission.phase, TITLE),
        status=submission.status,
        path=clip(submission.path, 400),
        sha256=submission.sha256,
        size=submission.size if submission.path else None,
        commit=submission.commit,
        branch=clip(submission.branch, TITLE),
        base=clip(submission.base, TITLE),
        summary=clip(submission.summary, 400),
        agent=clip(submission.agent, TITLE),
        at=submission.created_at,
    )


_BY_NOUN: dict[type[Json], Callable[[Call, Json], View]] = {
    Record: _of_record,
    Receipt: _of_receipt,
    Submission: _of_submission,
    Verdict: _of_verdict,
    Handoff: _of_handoff,
    Session: _of_session,
}
