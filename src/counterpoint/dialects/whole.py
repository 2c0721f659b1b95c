"""One thing that was written, by its id, whole and in pages.

Lists and overviews clip what is long; whatever was accepted is read back here in the form it was given: a text or
a list goes on on the next page, and an object that is too large for one is cut below its names, so that what
was given as JSON stays JSON. Only a list with an entry too large for any page goes on as the text of its JSON, and so
does an object with characters that an answer shows by their numbers: in that text they are what they were.

id            what it is
demo-3        an item: its text, what is kept with it, how its claims ended
demo-r1       a record; demo-h1 a handoff; demo-s1 what was handed in; demo-v1 a verdict
ses_…         a session: what it was given, and what it left
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.journal import Record, Submission, Transition, Verdict
from counterpoint.core.model.rows import load_object
from counterpoint.core.model.sessions import Handoff, Session
from counterpoint.core.rules.wording import parse_details
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    Part,
    clip,
    fit_parts,
    pages_of,
    part_of_list,
    part_of_text,
    size_of,
    sparse,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.visible import json_text, visible_json

_TITLE: Final = 500
_MOST: Final = 50
"""The most blockers, moves and handoffs of a thing that are shown with it, the last ones."""
_ENTRY: Final = 8_000
"""The most bytes of an entry of a list that is shown as a list: one fits on a page whatever stands above it."""
_OBJECT: Final = 1_500
"""The most bytes of an object that stands on one page as it is."""


_TAKEN: Final = frozenset(
    (
        "category",
        "created_at",
        "id",
        "item",
        "kind",
        "next_cursor",
        "note",
        "status",
        "success",
        "tags",
        "title",
    )
)
"""What stands beside the parts of a thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Something that was written: a few short fields, and the texts and lists it is made of."""

    header: dict[str, Json]
    parts: Mapping[str, Json]


def find_written(call: Call, name: str) -> Written | None:
    """Return what an id means, or None."""
    noun = noun_of_id(name)
    if noun is Session:
        return _session(call, name)
    make = _SORTS.get(noun) if noun is not None else None
    row = call.core.overview.find(noun, name) if noun is not None and make is not None else None
    if make is not None and row is not None:
        return make(row)
    item = call.core.items.find(name)
    # A session may have an id of its opener's own.
    return written_item(call, item.id) if item is not None else _session(call, name)


def rename_parts(written: Written, names: Mapping[str, str]) -> Written:
    """Return something that was written with some of its parts under the names that a dialect has for them."""
    parts = {names.get(name, name): part for name, part in written.parts.items()}
    return Written(header=written.header, parts=parts)


def present_written(
    call: Call, name: str, written: Written, cursor: str, tool: str
) -> dict[str, Json]:
    """Return a page of something that was written; InvalidInput for the cursor of another."""
    pages = pages_of(call, cursor, tool, name, "whole", first={})
    leaves = _leaves(written.parts)
    plain = {part: content for part, content in leaves.items() if isinstance(content, bool | int)}
    header: dict[str, Json] = {"id": name, **({} if cursor else written.header)}
    parts = {
        part: _page(content, pages.at.get(part, 0))
        for part, content in leaves.items()
        if part not in plain and (not cursor or part in pages.at)
    }
    fixed = {} if cursor else plain
    contents, next_starts = fit_parts(
        parts, PAGE - RESERVE - size_of(header) - size_of(fixed) - size_of(DATA)
    )
    # An object is one entry of its part, so that it stands on a page whole or not at all.
    values = {
        part: content[0] if _is_object(leaves[part]) else content
        for part, content in contents.items()
        if content or not _is_object(leaves[part])
    }
    page = _nested(
        {part: {**fixed, **values}.get(part) for part in leaves if part in fixed or part in values}
    )
    return {**header, **page, **sparse(next_cursor=pages.cursor(next_starts or None)), "note": DATA}


def _leaves(parts: Mapping[str, Json], above: str = "") -> dict[str, Json]:
    """Return the parts that a page holds, by their paths; an object that is too large is cut below its names."""
    leaves: dict[str, Json] = {}
    for name, content in parts.items():
        path = above + name.replace("~", "~0").replace("/", "~1")
        if isinstance(content, dict) and content != visible_json(content):
            leaves[path] = json_text(content)
        elif isinstance(content, dict) and size_of(content) > _OBJECT:
            leaves |= _leaves(cast("dict[str, Json]", content), f"{path}/")
        elif content or above or isinstance(content, bool | int):
            leaves[path] = content
    return leaves


def _nested(leaves: Mapping[str, Json]) -> dict[str, Json]:
    """Return the parts of a page by their paths as the objects that they are parts of."""
    page: dict[str, Json] = {}
    for path, content in leaves.items():
        *above, name = (word.replace("~1", "/").replace("~0", "~") for word in path.split("/"))
        inner = page
        for word in above:
            inner = cast("dict[str, Json]", inner.setdefault(word, {}))
        inner[name] = content
    return page


def _is_object(content: Json) -> bool:
    """Return whether a value stands on a page whole: neither a text nor a list."""
    return not isinstance(content, str | list)


def _page(content: Json, at: int) -> Part:
    if isinstance(content, str):
        return part_of_text(content, at)
    if isinstance(content, list):
        entries = cast("list[Json]", content)
        if all(size_of(entry) <= _ENTRY for entry in entries):
            return part_of_list(entries, at)
        return part_of_text(json_text(entries), at)
    return part_of_list([content], at)


def written_item(call: Call, name: str) -> Written:
    """Return an item, with what is kept with it and how its claims ended; NotFound."""
    facets = call.core.overview.facets(name)
    item = facets.item
    ends = {
        f"{part} of {outcome.token}": value
        for outcome in call.core.overview.outcomes(name)
        for part, value in (
            ("summary", str(outcome.summary)),
            ("achievements", list(outcome.achievements)),
            ("limitations", list(outcome.limitations)),
            ("next_steps", list(outcome.next_steps)),
            ("remarks", list(outcome.remarks)),
        )
    }
    waived = {f"waiver of {gate.name}": str(gate.reason) for gate in facets.gates}
    blockers = call.core.overview.rows(Record, item=name, kind="blocker", latest=True, limit=_MOST)
    blocker_texts = {
        f"blocker {blocker.id}": str(blocker.body or blocker.title) for blocker in blockers
    }
    moves = call.core.overview.rows(Transition, item=name, latest=True, limit=_MOST)
    moved = {f"reason of move {move.number}": str(move.reason) for move in moves}
    return Written(
        header={"kind": item.kind, "title": clip(item.title, _TITLE)},
        parts=_with(
            {
                **_titled(item.title),
                "description": item.body,
                "accept": [criterion.text for criterion in facets.criteria],
                **ends,
                **waived,
                **blocker_texts,
                **moved,
            },
            call.core.items.attributes(name),
        ),
    )


def _with(own: dict[str, Json], extra: Mapping[str, Json]) -> dict[str, Json]:
    """Return parts with values that are kept beside them, under names that nothing else here has."""
    taken = {*own, *_TAKEN}
    return own | {
        f"kept {name}" if name in taken else name: content for name, content in extra.items()
    }


def _titled(title: str) -> dict[str, Json]:
    """Return a title that does not fit beside the parts as one of them."""
    return {} if clip(title, _TITLE) == title else {"whole title": title}


def written_record(record: Record) -> Written:
    """Return a record with every text and value that it holds."""
    header = sparse(
        category=record.kind,
        title=clip(record.title, _TITLE),
        tags=list(record.tags[:5]),
        created_at=record.created_at,
        status=record.status,
    )
    return Written(
        header=header,
        parts=_with(
            {
                **_titled(record.title),
                "text": record.body,
                "files": list(record.files),
                "resolution": record.resolution,
            },
            load_object(record.details),
        ),
    )


def _session(call: Call, name: str) -> Written | None:
    """Return what a session was given, and what it handed over, the last first; None for another's project."""
    session = call.core.overview.find(Session, name)
    if session is None:
        return None
    handed_over: dict[str, Json] = {}
    for handoff in call.core.overview.rows(Handoff, session=name, latest=True, limit=_MOST):
        parts = _handoff(handoff).parts
        handed_over |= {f"{part} of {handoff.id}": value for part, value in parts.items()}
    header = {"agent": session.agent, "status": session.status}
    return Written(header=header, parts=_with(handed_over, load_object(session.details)))


def _handoff(handoff: Handoff) -> Written:
    return Written(
        header={"session": handoff.session},
        parts={
            "summary": handoff.summary,
            "next_steps": list(handoff.next_steps),
            "blockers": list(handoff.blockers),
            "context": parse_details(handoff.context),
        },
    )


def _submission(submission: Submission) -> Written:
    return Written(
        header={"item": submission.item, "status": submission.status},
        parts=_with(
            {"summary": submission.summary, "reasons": list(submission.reasons)},
            load_object(submission.details),
        ),
    )


def _verdict(verdict: Verdict) -> Written:
    return Written(
        header={"item": verdict.item, "independence": verdict.independence},
        parts={"reason": verdict.reason, "fixes": list(verdict.fixes)},
    )


_SORTS: Final[Mapping[type[Any], Callable[[Any], Written]]] = {
    Record: written_record,
    Handoff: _handoff,
    Submission: _submission,
    Verdict: _verdict,
}
