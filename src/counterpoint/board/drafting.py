"""New work on the board: an item, a plan, an import; each looked at before it is made.

A look is a POST that writes nothing: a text of any size stands in no address and no log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from counterpoint.board.forms import Form
from counterpoint.board.pages import Answer
from counterpoint.board.sittings import Services
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.foreign import Source
from counterpoint.core.model.work import DEFAULT_PRIORITY, PRIORITIES, WORKABLE, Item
from counterpoint.core.operations.foreign.importing import ForeignImports
from counterpoint.core.rules.drafting import PlannedItem, remarks_of_new
from counterpoint.core.rules.planning.beginning import list_area_waits, list_startable
from counterpoint.kernel.errors import CounterpointError, InvalidInput, NotFound

KINDS: Final = ("task", "phase", "plan")
NEW: Final = {"plan": "Plan", "item": "Item", "import": "Import"}
MAX_SHOWN: Final = 400
MAX_INDENT: Final = 6
_EXAMPLE: Final = """# A plan
What it is for.

## First phase
- [ ] A task {#first}
  - areas: src
- [ ] Another
  - after: first

## Second phase
- review: yes
- [ ] The last one
"""


def read_new(answer: Answer) -> dict[str, Any]:
    """Return the form for new work of a kind, with what was typed and what it would make."""
    kind = answer.subpath or "plan"
    if kind not in NEW:
        raise NotFound("there is no such page", hint="New work is planned at /new")
    form = Form("", answer.form)
    typed = dict(answer.form)
    if not typed:
        typed = {"below": answer.query.get("below", ""), "priority": str(DEFAULT_PRIORITY)}
        root = answer.core.items.named(answer.query["of"]) if answer.query.get("of") else None
        if kind == "plan":
            typed["text"] = answer.core.overview.markdown(root.id) if root else _EXAMPLE
    look: dict[str, Any] = {}
    if answer.form or kind == "plan":
        try:
            look = _LOOKS[kind](answer, Form("", typed) if kind == "plan" else form)
        except CounterpointError as fault:
            look = {"fault": fault}
    return {
        "kind": kind,
        "kinds": NEW,
        "item_kinds": KINDS,
        "typed": typed,
        "look": look,
        "sources": answer.services.sources,
        "priorities": PRIORITIES,
        "is_looked_at": bool(answer.form),
    }


def add_item(core: Core, form: Form, _services: Services) -> Item:
    """Make one item."""
    return core.plans.create(_draft_of(core, form), form.item(core, "below")).root


def make_plan(core: Core, form: Form, _services: Services) -> Item:
    """Make a plan, or bring the open one of its name up to date."""
    draft, below = _plan_of(core, form), form.item(core, "below")
    update = core.plan_updates.apply(draft, below)
    return update.root if update is not None else core.plans.create(draft, below).root


def bring_import(core: Core, form: Form, services: Services) -> Item:
    """Import what a file says."""
    work, source = _source_of(form, services)
    arrivals = [core.use(ForeignImports).bring(each, source) for each in work]
    return core.items.get(arrivals[0].root)


def _draft_of(core: Core, form: Form) -> Draft:
    kind = form.text("kind")
    if kind not in KINDS:
        raise InvalidInput("an item is a task, a phase or a plan")
    after = form.items(core, "after")
    return Draft(
        kind=kind,
        title=form.need("title", "the title"),
        body=form.text("body"),
        needs=after if after or kind != "phase" else None,
        areas=form.lines("areas"),
        acceptance=form.lines("acceptance"),
        checks=form.checks(),
        labels=form.words("labels"),
        priority=form.priority(),
        review=bool(form.text("review")),
    )


def _plan_of(core: Core, form: Form) -> Draft:
    text = form.need("text", "the text of the plan")
    if "\0" in text:
        raise InvalidInput("the plan is no text: it has characters of code 0")
    return core.plans.read(text + "\n")


def _source_of(form: Form, services: Services) -> tuple[Sequence[Any], Source]:
    tool, name = form.text("tool"), form.text("file") or "file"
    if tool not in services.sources:
        raise InvalidInput("no such source can be imported here", hint="Choose one of the list.")
    work = services.read_import(tool, name, form.need("text", "the file"))
    return work, Source(place=name, name="")


def _look_at_item(answer: Answer, form: Form) -> dict[str, Any]:
    core = answer.core
    draft, below = _draft_of(core, form), form.item(core, "below")
    planned, stuck = core.plans.look(draft, below)
    return {"rows": _rows(core, planned), "count": len(planned), "warnings": [*stuck]}


def _look_at_plan(answer: Answer, form: Form) -> dict[str, Any]:
    core = answer.core
    draft, below = _plan_of(core, form), form.item(core, "below")
    update = core.plan_updates.apply(draft, below, dry_run=True)
    planned, stuck = core.plans.look(draft, below)
    remarks = [*draft.remarks, *(core.plan_updates.remarks_of_ended(draft, below))]
    if update is None:
        remarks += remarks_of_new(draft)
    else:
        remarks += update.remarks
    return {
        "rows": _rows(core, planned),
        "count": len(planned),
        "changes": update,
        "warnings": [*stuck, *remarks],
    }


def _look_at_import(answer: Answer, form: Form) -> dict[str, Any]:
    work, source = _source_of(form, answer.services)
    verbs = answer.core.use(ForeignImports)
    return {"arrivals": [(each.title, verbs.look(each, source)) for each in work], "warnings": []}


_LOOKS: Final = {"plan": _look_at_plan, "item": _look_at_item, "import": _look_at_import}


def _rows(core: Core, planned: Sequence[PlannedItem]) -> list[dict[str, Any]]:
    """Return a plan as rows of its tree: what is ready, and what the others wait for."""
    outside = {name for part in planned for name in part.outside}
    done = {name for name in outside if core.items.get(name).category == "done"}
    ready = list_startable(planned, done)
    area_waits = list_area_waits(planned, ready)
    children: dict[int | None, list[int]] = {}
    for index, part in enumerate(planned):
        children.setdefault(part.parent, []).append(index)
    rows: list[dict[str, Any]] = []
    queue = [(index, 0) for index in reversed(children.get(None, []))]
    while queue and len(rows) < MAX_SHOWN:
        index, level = queue.pop()
        part = planned[index]
        waits = [planned[need].draft.title for need in part.needs] + [*part.outside]
        is_open = part.draft.kind in WORKABLE and not part.draft.done
        is_held = is_open and not waits and index not in ready and not children.get(index)
        rows.append(
            {
                "level": min(level, MAX_INDENT),
                "draft": part.draft,
                "is_ready": index in ready and index not in area_waits,
                "after": waits,
                "is_held": is_held,
                "area_of": planned[area_waits[index]].draft.title if index in area_waits else "",
            }
        )
        queue += [(child, level + 1) for child in reversed(children.get(index, []))]
    return rows
