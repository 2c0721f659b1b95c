"""How specs were: the actions `diff` and `history` of `spec`, and `spec-rollback`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, cast

from pydantic import Field

from counterpoint.dialects.arguments import TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.rules.shape import items_of, text_of
from counterpoint.dialects.foundry.tools.shown import META
from counterpoint.dialects.foundry.verbs.documents.applying import Applied
from counterpoint.dialects.foundry.verbs.documents.history import History, Past, PastChange
from counterpoint.dialects.foundry.verbs.editing import Editing
from counterpoint.dialects.foundry.words import Cursor, DryRun, Limit, LongLimit, SpecId
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    Part,
    clip,
    pages_of,
    part_of_list,
    shared,
    size_of,
    sparse,
)
from counterpoint.kernel.canonical import Json, dump_any, object_of, text_digest
from counterpoint.kernel.plurals import agree, counted
from counterpoint.protocol.actions import action

_ONE: Final = 3_000
"""The most bytes that the changes of one node take."""
_SAID: Final = 300
_FIELDS: Final = 20
_NODES: Final = 10
_CHANGES: Final = 50
_CHANGES_ROOM: Final = 6_000

Version = Annotated[
    str,
    Field(
        min_length=1,
        max_length=100,
        description="Such as 1.1; spec-rollback: of spec history, or a time",
    ),
    TEXT,
]


@action(reads=True, plain=True)
def diff(
    call: Call,
    spec_id: SpecId,
    target: Annotated[
        str,
        Field(
            min_length=1,
            max_length=100,
            description="Version, time or other spec; else the last version",
        ),
        TEXT,
    ] = "",
    limit: LongLimit = 100,
    cursor: Cursor = "",
) -> Json:
    """What differs from an earlier version, or from another spec."""
    compared, report = call.core.use(History).diff(spec_id, target, limit)
    changes = {
        name: [_cut(object_of(entry)) for entry in items_of(some)]
        for name, some in object_of(report["changes"]).items()
    }
    # Of a spec that has changed since there is no further page: the places would not fit.
    digest = text_digest(dump_any(report))
    pages = pages_of(
        call, cursor, "spec diff", spec_id, target, limit, digest, first=dict.fromkeys(changes, 0)
    )
    opened = {
        name: part_of_list(cast("list[Json]", some), pages.at[name])
        for name, some in changes.items()
        if name in pages.at
    }
    beside: dict[str, Json] = {"spec_id": spec_id, "compared_to": compared, **report, "changes": {}}
    parts, further = shared(opened, PAGE - RESERVE - META - size_of(beside))
    size = sum(len(items_of(some)) for some in parts.values())
    whole: dict[str, Json] = {name: parts.get(name, []) for name in changes}
    return present(
        {**beside, "changes": whole}, pagination=page(pages.cursor(further or None), size)
    )


def _cut(entry: dict[str, Json]) -> dict[str, Json]:
    """Return what changed of a node as far as there is room for it."""
    if "field_changes" not in entry:
        return {**entry, "title": clip(text_of(entry.get("title")), _SAID)}
    chars_left, lines = _ONE, list[Json]()
    for change in items_of(entry["field_changes"]):
        chars_left -= size_of(change)
        if chars_left < 0:
            break
        lines.append(change)
    return {**entry, "title": clip(text_of(entry.get("title")), _SAID), "field_changes": lines}


@action(reads=True)
def history(
    call: Call,
    spec_id: SpecId,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> Json:
    """Versions and revisions, newest first."""
    pages = pages_of(call, cursor, "spec history", spec_id, first={"revisions": 0, "changes": -1})
    before = pages.at.get("changes")
    past = call.core.use(History).changes(
        spec_id, -1 if before is None else before, limit if before is not None else 1
    )
    opened: dict[str, Part] = {}
    if "revisions" in pages.at:
        listed: list[Json] = [_revision(revision) for revision in reversed(past.revisions)]
        opened["revisions"] = part_of_list(listed, pages.at["revisions"], limit)
    if before is not None:
        opened["changes"] = _changes(past, before)
    parts, further = shared(opened, PAGE - RESERVE - META)
    revisions, changes = items_of(parts.get("revisions")), items_of(parts.get("changes"))
    return present(
        {
            "spec_id": past.spec,
            "entries": [*revisions, *changes],
            "backup_count": len(changes),
            "revision_count": len(past.revisions),
        },
        pagination=page(pages.cursor(further or None), len(revisions) + len(changes)),
    )


def _changes(past: Past, before: int) -> Part:
    """Return the changes as a part that goes on where the next page begins, also if it has none itself."""
    places = [change.position for change in past.changes[:-1]]
    return Part(
        content=[_change(change) for change in past.changes],
        start=before if past.changes else past.following,
        places=[*places, past.following],
        more=past.following >= 0,
    )


def _change(change: PastChange) -> dict[str, Json]:
    nodes = list(change.fields.items())[:_NODES]
    return {
        "type": "backup",
        "timestamp": change.at,
        "version": str(change.position),
        "action": change.action,
        "author": change.agent,
        "changed": {name: list(fields[:_FIELDS]) for name, fields in nodes},
    }


def _revision(revision: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "type": "revision",
        "timestamp": revision.get("date"),
        "version": clip(text_of(revision.get("version")), _SAID),
        "changes": clip(text_of(revision.get("changelog") or revision.get("changes")), _SAID),
        **sparse(author=revision.get("author")),
    }


def _changed(applied: Applied) -> dict[str, Json]:
    """Return what changed as far as there is room for it, and how many more there are."""
    chars_left, lines = _CHANGES_ROOM, list[Json]()
    for change in applied.changes[:_CHANGES]:
        line: Json = {"node_id": change.node, **sparse(field=clip(change.field, _SAID))}
        chars_left -= size_of(line)
        if chars_left < 0:
            break
        lines.append(line)
    return {"changes": lines, "more_changes": len(applied.changes) - len(lines)}


@action(reads=False, destructive=True, plain=True)
def spec_rollback(
    call: Call, spec_id: SpecId, version: Version, *, dry_run: DryRun = False
) -> Json:
    """Bring a spec back to how it was."""
    position = call.core.use(Editing).position()
    restored_to, applied = call.core.use(History).rollback(
        spec_id, version, whole=True, dry_run=dry_run
    )
    count = len(applied.changes)
    message = (
        f"{counted(count, 'change')} would be made"
        if dry_run
        else f"{agree(count, 'change', 'was')} made"
    )
    return present(
        {
            "spec_id": applied.spec,
            "timestamp": version,
            "dry_run": dry_run,
            "restored_from": str(restored_to),
            "backup_created": None if dry_run else str(position),
            "message": message,
            **_changed(applied),
        }
    )
