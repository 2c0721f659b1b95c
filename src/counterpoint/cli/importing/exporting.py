"""The command that writes work for other programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import click
import orjson

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.importing.files import sections
from counterpoint.cli.importing.readers import own
from counterpoint.cli.importing.readers.beads import ENDS, GATE, GATE_FIELDS
from counterpoint.cli.work.names import ITEM, item_id
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.foreign import ForeignItem, ForeignWork
from counterpoint.core.model.lifecycles import CLOSED, TASK, category_of
from counterpoint.core.operations.foreign.exporting import ForeignExports
from counterpoint.core.rules import outline
from counterpoint.core.rules.wording import few
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, Unavailable
from counterpoint.kernel.plurals import counted

_TYPES: Final = frozenset({"bug", "feature", "epic", "chore", GATE})
_DESIGN: Final = "## Design\n\n"
_NOTES: Final = "## Notes\n\n"
_BEADS: Final[Mapping[str, str]] = {
    "open": "open",
    "active": "in_progress",
    "review": "in_progress",
}


_WORDS: Final[Mapping[str, str]] = {
    "assignee": "who it is given to",
    "areas": "areas",
    "checks": "checks (verify)",
    "approval": "approval: yes",
    "review": "review: yes",
    "artifact": "artifact: yes",
    "profile": "profiles",
    "notes": "comments and other records",
}
"""What an item may have beside its texts and edges, by its field."""
_PLAN: Final = frozenset({"areas", "checks", "approval", "review", "artifact", "profile"})
_HELD: Final[Mapping[str, frozenset[str]]] = {
    "markdown": _PLAN,
    "json": frozenset(_WORDS),
    "beads": frozenset({"assignee", "notes"}),
    "github": frozenset({"assignee"}),
}
_STATES_HELD: Final[Mapping[str, frozenset[str]]] = {
    "markdown": frozenset({"open", "done", "cancelled"}),
    "json": frozenset(TASK.categories),
    "beads": frozenset(TASK.categories) - {"review"},
    "github": frozenset({"open"}),
}


@click.command(
    "export",
    epilog=examples(
        "counterpoint export --output plan.md",
        "counterpoint export 12 --format json --output work.json",
    ),
)
@click.argument("item", required=False, default="", metavar="[ID]", type=ITEM)
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "json", "beads", "github"]),
    default="markdown",
    show_default=True,
    help="The format to write.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to this file instead of the terminal.",
)
@with_context
def export_command(context: CommandContext, *, item: str, form: str, output: Path | None) -> None:
    """Export work for other tools, or for another ledger.

    It exports all work, or the tree below the item ID. `counterpoint import` reads Markdown, JSON and beads' JSON Lines again.
    For GitHub each line is the input of one `gh api repos/OWNER/REPO/issues --input -`.
    """
    with context.out.counting("Reading the work"):
        top = item_id(context.core, item) if item else ""
        work = context.core.use(ForeignExports).work(top)
        text = WRITERS[form](work)
    lost = list(_lost(form, work))
    if output is None:
        context.out.document(text)
    else:
        _write(output, text)
        written = f"{counted(len(work.items), 'item')} of {work.title} written to {output}"
        answer: Json = {
            "format": form,
            "items": len(work.items),
            "file": str(output),
            "left_out": list[Json](lost),
        }
        context.out.result(answer, written)
    if output is None or not context.out.json:
        for line in lost:
            context.out.aside(line)


def _lost(form: str, work: ForeignWork) -> Iterator[str]:
    """Return what a format cannot hold of some work, each with the items that have it."""
    for name, word in _WORDS.items():
        if name in _HELD[form]:
            continue
        items = [item.id for item in work.items if getattr(item, name)]
        if items:
            yield f"{form} cannot hold {word}: {few(items)}"
    states = _STATES_HELD[form]
    others: dict[str, list[str]] = {}
    for item in work.items:
        if item.state not in states and not (item.is_phase and item.state == "active"):
            others.setdefault(item.state, []).append(item.id)
    for state, items in others.items():
        yield f"{form} cannot hold the state {state}: {few(items)}"
    yield from _lost_of_kind(form, work)


def _lost_of_kind(form: str, work: ForeignWork) -> Iterator[str]:
    """Return what one format alone cannot hold."""
    if form == "beads" and (phases := [item.id for item in work.items if item.is_phase]):
        yield f"beads has no phases, so these are epics: {few(phases)}"
    dropped = [item.id for item in work.items if category_of(item.state) == "dropped"]
    if form == "markdown" and dropped:
        yield f"`- [-]` is cancelled, which `counterpoint import markdown` reads and `counterpoint plan` refuses: {few(dropped)}"
    if form in {"markdown", "github"} and work.items:
        yield f"{form} cannot hold dates: those of {counted(len(work.items), 'item')} are left out"


def _write(path: Path, text: str) -> None:
    """Write a new file, and nothing over another; Conflict, Unavailable."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        raise Conflict(
            f"there is a file {str(path)!r} already", hint="Name another, or take it away."
        ) from None
    except OSError as fault:
        raise Unavailable(
            f"{str(path)!r} cannot be written: {fault.strerror}", hint="Name another file."
        ) from fault
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(text)


def _markdown(work: ForeignWork) -> str:
    below: dict[str, list[ForeignItem]] = {}
    for item in work.items:
        below.setdefault(item.parent, []).append(item)
    ids = {item.id for item in work.items}

    def drafted(item: ForeignItem) -> Draft:
        needs = tuple(need for need in item.needs if need in ids)
        category = category_of(item.state)
        return Draft(
            kind="phase" if item.is_phase else "task",
            title=item.title,
            name=item.id,
            body=item.body,
            # A phase without a word comes after the one before it.
            needs=needs if needs or item.is_phase else None,
            areas=item.areas,
            acceptance=item.acceptance,
            checks=item.checks,
            approval=item.approval,
            review=item.review,
            artifact=item.artifact,
            profile=item.profile,
            labels=item.labels,
            priority=item.priority,
            done=category == "done",
            status="cancelled" if category == "dropped" else "",
            children=tuple(map(drafted, below.get(item.id, ()))),
        )

    return outline.dump(
        Draft(
            kind="plan",
            title=" ".join(work.title.split()) or work.key,
            body=work.body,
            children=tuple(map(drafted, below.get("", ()))),
        )
    )


def _json(work: ForeignWork) -> str:
    return orjson.dumps(
        own.work_to_json(work), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    ).decode()


def _lines(lines: Iterator[Json]) -> str:
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in lines).decode()


def _beads(work: ForeignWork) -> str:
    return _lines(_bead(item) for item in work.items)


def _bead(item: ForeignItem) -> Json:
    is_closed = category_of(item.state) in CLOSED
    edges = [(need, "blocks") for need in item.needs]
    edges += [(item.parent, "parent-child")] if item.parent else []
    kinds = [label for label in item.labels if label in _TYPES]
    kind = "epic" if item.is_phase else kinds[0] if kinds else "task"
    # A gate is parked here because nothing watches for what it waits for; there something does.
    is_gate = kind == GATE and item.state == "backlog"
    created, estimate = item.facts.get("created", ""), item.facts.get("estimate", "")
    fields: dict[str, Json] = {
        "id": item.id,
        "title": item.title,
        **dict(zip(("description", "design", "notes"), _parts(item.body), strict=True)),
        "acceptance_criteria": "\n".join(f"- {sentence}" for sentence in item.acceptance),
        "status": "closed"
        if is_closed
        else _BEADS.get("open" if is_gate else item.state, "deferred"),
        "priority": item.priority,
        "issue_type": kind,
        "assignee": item.assignee,
        "created_at": created,
        "created_by": item.facts.get("creator", ""),
        "updated_at": item.facts.get("updated") or item.facts.get("closed", created),
        "closed_at": item.facts.get("closed", created) if is_closed else "",
        "close_reason": (item.state if item.state in ENDS else item.facts.get("because", ""))
        if is_closed
        else "",
        "estimated_minutes": int(estimate) if estimate.isdecimal() else "",
        "external_ref": item.facts.get("reference", ""),
        "due_at": item.facts.get("due", ""),
        "defer_until": item.facts.get("deferred", ""),
        **_gate_fields(item.facts),
        "labels": [label for label in item.labels if label != kind],
        "dependencies": [
            {"issue_id": item.id, "depends_on_id": other, "type": sort, "created_at": created}
            for other, sort in edges
        ],
        "comments": [
            {"issue_id": item.id, "author": note.author, "text": note.text, "created_at": note.at}
            for note in item.notes
        ],
    }
    return {name: value for name, value in fields.items() if value not in ("", [])}


def _gate_fields(facts: Mapping[str, str]) -> dict[str, Json]:
    """Return what a gate of beads waits for, as it came from there."""
    fields: dict[str, Json] = {name: facts.get(name, "") for name in GATE_FIELDS}
    for name in ("timeout", "timeout_ns"):
        text = facts.get(name, "")
        fields[name] = int(text) if text.isdecimal() else text
    return {
        **fields,
        "waiters": [waiter for waiter in facts.get("waiters", "").split(", ") if waiter],
    }


def _parts(body: str) -> tuple[str, str, str]:
    """Return a description without the design and the notes that an import of beads has put below it, and these."""
    head, _, notes = body.rpartition(_NOTES) if _NOTES in body else (body, "", "")
    text, _, design = head.rpartition(_DESIGN) if _DESIGN in head else (head, "", "")
    parts = (text.strip(), design.strip(), notes.strip())
    whole = sections(("", text), ("Design", design), ("Notes", notes))
    return parts if whole == body else (body, "", "")


def _github(work: ForeignWork) -> str:
    titles = {item.id: item.title for item in work.items}
    return _lines(
        _issue(item, titles) for item in work.items if category_of(item.state) not in CLOSED
    )


def _issue(item: ForeignItem, titles: Mapping[str, str]) -> Json:
    lines = [f"Part of {item.parent} {titles[item.parent]}"] if item.parent in titles else []
    lines += [f"After {need} {titles[need]}" for need in item.needs if need in titles]
    lines += [f"- [ ] {sentence}" for sentence in item.acceptance]
    text = "\n\n".join(filter(None, (item.body, "\n".join(lines), f"Exported from {item.id}.")))
    fields: dict[str, Json] = {"title": item.title, "body": text, "labels": list(item.labels)}
    return {**fields, "assignees": [item.assignee]} if item.assignee else fields


WRITERS: Final[Mapping[str, Callable[[ForeignWork], str]]] = {
    "markdown": _markdown,
    "json": _json,
    "beads": _beads,
    "github": _github,
}
"""What writes each format."""
