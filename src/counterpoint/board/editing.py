"""Changing an item on the board: only what the form has otherwise than the item is an edit."""

from __future__ import annotations

from typing import Any

from counterpoint.board.forms import Form
from counterpoint.board.pages import Answer
from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import Facets
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.work import PRIORITIES, Item
from counterpoint.core.rules.planning.attributes import command_line
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.visible import visible


def read_edit(answer: Answer) -> dict[str, Any]:
    """Return an item as the fields of a form."""
    item = answer.item()
    facets = answer.core.overview.facets(item.id)
    return {
        "item": item,
        "typed": _fields_of(facets),
        "priorities": PRIORITIES,
        "seen": answer.state.ledger_size,
    }


def edit_item(core: Core, item: Item, form: Form) -> None:
    """Change what a form has otherwise; InvalidInput if that is nothing."""
    facets = core.overview.facets(item.id)
    before = _fields_of(facets)
    # What steers or hides is shown by its number, which is no change of who sends the form.
    changed = {name for name, text in before.items() if form.text(name) != visible(text).strip()}
    labels, needs = form.words("labels"), form.items(core, "after")
    own_needs = tuple(need.id for need in facets.needs)
    below, priority = form.item(core, "below"), form.priority()
    edit = Edit(
        title=form.need("title", "the title") if "title" in changed else None,
        body=form.text("body") if "body" in changed else None,
        priority=priority if priority != item.priority else None,
        parent=below if below != item.parent else None,
        areas=form.lines("areas") if "areas" in changed else None,
        acceptance=form.lines("acceptance") if "acceptance" in changed else None,
        checks=form.checks() if "checks" in changed else None,
        add_labels=tuple(name for name in labels if name not in facets.labels),
        remove_labels=tuple(name for name in facets.labels if name not in labels),
        add_needs=tuple(need for need in needs if need not in own_needs),
        remove_needs=tuple(need for need in own_needs if need not in needs),
        reason=form.text("reason"),
        expected_version=form.number("version"),
    )
    if edit == Edit(reason=edit.reason, expected_version=edit.expected_version):
        raise InvalidInput("nothing was changed in the form", hint="Change a field of it.")
    core.items.edit(item.id, edit)


def _fields_of(facets: Facets) -> dict[str, str]:
    checks = [gate.argv for gate in facets.gates if gate.kind == "check"]
    return {
        "title": facets.item.title,
        "body": facets.item.body,
        "areas": "\n".join(facets.areas),
        "acceptance": "\n".join(" ".join(each.text.split()) for each in facets.criteria),
        "checks": "\n".join(command_line(argv) for argv in checks),
        "labels": " ".join(facets.labels),
        "after": " ".join(need.id for need in facets.needs),
    }
