"""The tool `plan`: a whole tree of work at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from counterpoint.core.model.answers import CreatedPlan, PlanUpdate
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.work import DEFAULT_PRIORITY, Item, Kind
from counterpoint.core.rules.drafting import PlannedItem, remarks_of_new
from counterpoint.dialects.call import Call
from counterpoint.dialects.lacking import said_of_lacking
from counterpoint.dialects.native.words import (
    TITLE,
    Argvs,
    Body,
    Id,
    ItemId,
    Lines,
    Name,
    Title,
    Word,
    Words,
    present_line,
)
from counterpoint.dialects.paging import clip, fit_parts, part_of_list, sparse
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.arguments import check
from counterpoint.protocol.parameters import Parameters
from counterpoint.protocol.tools import tool

Markdown = Annotated[str, Field(max_length=1_000_000), WithJsonSchema({"type": "string"})]
Values = Annotated[
    dict[Word, Word | Title],
    Field(max_length=100),
    WithJsonSchema({"type": "object"}),
]
_ROOM = 6_000
_MOST_BESIDE = 10_000
"""How many items may be directly below one."""


class Node(BaseModel):
    """One item of a tree, in the words of a Markdown plan."""

    # What checks a plan is built with the tool's arguments, not when a server starts.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    kind: Kind | None = None
    title: Name
    name: Id = ""
    description: Body = ""
    after: Lines | None = None
    areas: Lines = ()
    accept: Lines = ()
    verify: Argvs = ()
    labels: Words = ()
    priority: int = Field(default=DEFAULT_PRIORITY, ge=0, le=4)
    profile: Word = ""
    approval: bool = False
    review: bool = False
    artifact: bool = False
    items: Annotated[tuple[Node, ...], Field(max_length=_MOST_BESIDE)] = ()

    def parse(self, above: str = "") -> Draft:
        """Return the draft; `above` is the kind of what holds it.

        Without a kind the top is a plan, what holds items directly below the top a phase, all else a task.
        """
        holds = bool(self.items) and above not in {"phase", "task"}
        kind = self.kind or ("plan" if not above else "phase" if holds else "task")
        return Draft(
            kind=kind,
            title=self.title,
            name=self.name,
            body=self.description,
            needs=self.after,
            areas=self.areas,
            acceptance=self.accept,
            checks=self.verify,
            labels=self.labels,
            priority=self.priority,
            profile=self.profile,
            approval=self.approval,
            review=self.review,
            artifact=self.artifact,
            children=tuple(item.parse(kind) for item in self.items),
        )


def _tree(call: Call, tree: Node) -> Node:
    """Stand for what a tree must look like; the tool shows only its words."""
    del call
    return tree


TREE = Parameters(_tree, trees=("tree",))


@tool(reads=False, idempotent=False, trees=("tree",))
def plan(
    call: Call,
    markdown: Annotated[
        Markdown,
        Field(
            description="# Title, ## Phase, - [ ] Task; below each, indented: - after: Other task, - areas: src/x,"
            " - accept: sentence, - verify: command, - review: yes, - approval: yes"
        ),
    ] = "",
    tree: Annotated[
        dict[str, Any] | None,
        WithJsonSchema({"type": "object"}),
        Field(
            description="A plan as JSON: {title, kind, name, description, after, areas, accept, verify, labels, "
            "priority, profile, approval, review, artifact, items}"
        ),
    ] = None,
    template: Annotated[Word, Field(description="Name of a template, instead")] = "",
    variables: Annotated[Values | None, Field(description="Values of its variables")] = None,
    parent: Annotated[ItemId, Field(description="Id of an item to put it below")] = "",
    *,
    again: Annotated[bool, Field(description="Make a second plan of that name or title")] = False,
    prune: Annotated[bool, Field(description="Cancel open tasks that went from it")] = False,
    dry_run: Annotated[bool, Field(description="Show what would be made, write nothing")] = False,
) -> Json:
    """Make a tree of work from one of markdown, tree, template, or bring the open plan of that name or title up to date."""
    draft = _draft(call, markdown, tree, template, variables)
    if prune and (again or template):
        raise InvalidInput(
            "`prune` is for the open plan that is brought up to date",
            hint="Leave out `prune`, or `again` and `template`.",
        )
    if not (again or template):
        update = call.core.plan_updates.apply(draft, parent, prune=prune, dry_run=dry_run)
        if update is not None:
            return {
                **({"dry_run": True} if dry_run else {}),
                **_updated(update),
                **_warnings(call, draft, (*update.remarks, *update.deadlocks)),
            }
    remarks = () if again or template else call.core.plan_updates.remarks_of_ended(draft, parent)
    remarks = (*remarks, *remarks_of_new(draft))
    if dry_run:
        planned, stuck = call.core.plans.look(draft, parent)
        return {**_previewed(planned), **_warnings(call, draft, (*stuck, *remarks))}
    created = call.core.plans.create(draft, parent)
    return {**_present(created), **_warnings(call, draft, (*created.deadlocks, *remarks))}


def _warnings(call: Call, draft: Draft, stuck: Sequence[str]) -> dict[str, Json]:
    commands = list(_commands(draft))
    lacks = said_of_lacking(call.core.permitted.lacking(commands)) if commands else ""
    return sparse(warnings=[*stuck, *draft.remarks, *([lacks] if lacks else [])])


def _commands(draft: Draft) -> Iterator[tuple[str, ...]]:
    """Return the commands that the checks of a tree run."""
    yield from draft.checks
    for child in draft.children:
        yield from _commands(child)


def draft_of_tree(tree: dict[str, Any]) -> Draft:
    """Return the draft of a tree as agents give it; InvalidInput with all that is wrong."""
    node: Node = check(TREE, {"tree": tree}).values["tree"]
    return node.parse()


def _draft(
    call: Call,
    markdown: str,
    tree: dict[str, Any] | None,
    template: str,
    variables: dict[str, str] | None,
) -> Draft:
    sources = [
        name
        for name, part in (("markdown", markdown), ("tree", tree), ("template", template))
        if part or part == {}
    ]
    if len(sources) != 1:
        raise InvalidInput(
            f"give exactly one of markdown, tree and template, not {' and '.join(sources) or 'none'}",
            hint="Read counterpoint://help/plan for the Markdown of a plan.",
        )
    if variables is not None and not template:
        raise InvalidInput("`variables` belong to a `template`", hint="Leave them out.")
    if tree is not None:
        return draft_of_tree(tree)
    if template:
        return call.core.plans.from_template(template, variables or {})
    return call.core.plans.read(markdown)


def _present(created: CreatedPlan) -> dict[str, Json]:
    ready = set(created.ready)
    entries = [_made_line(item, ready) for item in created.items]
    fields, unread = fit_parts({"items": part_of_list(entries, limit=len(entries))}, _ROOM)
    count = len(created.items)
    return {
        "root": created.root.id,
        "count": count,
        "ready_count": len(ready),
        **fields,
        **sparse(rest=_rest(unread, count, f"`list` with root={created.root.root}")),
    }


def _updated(update: PlanUpdate) -> dict[str, Json]:
    """Return what a plan that was open already became."""
    ready = set(update.ready)
    entries: dict[str, list[Json]] = {
        "items": [_made_line(item, ready) for item in update.created],
        "changed": [
            {**_short(change.item), "fields": [*change.fields]} for change in update.changed
        ],
        "gone": [_short(item) for item in update.gone],
        "pruned": [_short(item) for item in update.pruned],
    }
    parts = {name: part_of_list(some, limit=len(some)) for name, some in entries.items()}
    fields, unread = fit_parts(parts, _ROOM)
    more = ", ".join(f"{len(entries[name]) - at} more {name}" for name, at in unread.items())
    return {
        "root": update.root.id,
        "updated": True,
        "count": len(update.created),
        "ready_count": len(ready),
        **fields,
        **sparse(rest=f"{more}: `list` with root={update.root.root}" if more else ""),
    }


def _short(item: Item) -> dict[str, Json]:
    return {"id": item.id, "title": clip(str(item.title), 80)}


def _made_line(item: Item, ready: set[str]) -> dict[str, Json]:
    line = present_line(item, 80)
    return sparse(
        id=line["id"],
        kind=line["kind"],
        title=line["title"],
        parent=line.get("parent"),
        ready=item.id in ready or None,
    )


def _rest(unread: dict[str, Json], count: int, how: str) -> str:
    return f"{count - unread['items']} more: {how}" if "items" in unread else ""


def _previewed(planned: Sequence[PlannedItem]) -> dict[str, Json]:
    entries = [
        sparse(
            n=number,
            kind=part.draft.kind,
            title=clip(part.draft.title, TITLE),
            line=part.draft.line or None,
            below=part.parent,
            after=[*part.needs[:20], *part.outside[:20]],
            **_asked(part.draft),
        )
        for number, part in enumerate(planned)
    ]
    fields, unread = fit_parts({"items": part_of_list(entries, limit=len(entries))}, _ROOM)
    return {
        "dry_run": True,
        "count": len(planned),
        **fields,
        **sparse(rest=_rest(unread, len(planned), "they follow the same way")),
    }


def _asked(draft: Draft) -> dict[str, Json]:
    """Return what a draft asks of its work, in the words of a plan."""
    return {
        "areas": [clip(area, TITLE) for area in draft.areas[:20]],
        "accept": [clip(sentence, TITLE) for sentence in draft.acceptance[:20]],
        "verify": [clip(" ".join(argv), TITLE) for argv in draft.checks[:20]],
        "labels": list(draft.labels[:20]),
        "profile": draft.profile,
        "priority": draft.priority if draft.priority != DEFAULT_PRIORITY else None,
        "approval": draft.approval or None,
        "review": draft.review or None,
        "artifact": draft.artifact or None,
        "done": draft.done or None,
    }
