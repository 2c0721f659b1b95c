"""The head of a spec: valid values, and the lists that it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from counterpoint.dialects.foundry.nouns.nodes import DEPENDS, TYPE
from counterpoint.dialects.foundry.nouns.specs import LISTS, MISSION, REVISIONS, RISKS, SpecList
from counterpoint.dialects.foundry.rules.shape import (
    CATEGORIES,
    FIELD_LIMIT,
    KEYS_LIMIT,
    LEVELS,
    LIST_LIMIT,
    NESTING_LIMIT,
    TEMPLATES,
    depth_of,
    has_text,
    is_one_of,
    items_of,
    same,
    text_of,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import Conflict, InvalidInput

TITLE: Final = "title"
DESCRIPTION: Final = "description"
PATHS: Final = ("plan_path", "plan_review_path", "spec_review_path")
"""Values that name files of the project."""
DERIVED: Final = frozenset(
    (
        *("spec_id", "generated", "last_updated", "status", "progress_percentage"),
        *("current_phase", "hierarchy", "journal", "metadata"),
        *("type", "parent", "children", "total_tasks", "completed_tasks", "dependencies"),
        *("acceptance_criteria", "file_path", "completed_at", "skipped", "failed_at"),
        *("blocked_at", "blocker_type", "blocker_description", "blocker_ticket"),
        *(REVISIONS, TYPE, DEPENDS),
    )
)
"""What is worked out, or has an action of its own."""
_KEY_LIMIT: Final = 100
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "category": CATEGORIES,
    "template": tuple(TEMPLATES),
}
_LISTS: Final[Mapping[str, SpecList]] = {spec_list.key: spec_list for spec_list in LISTS}


def refuse_frontmatter(key: str, value: Json) -> None:
    """Raise InvalidInput if a value is invalid at the head of a spec under a key; None removes it."""
    fault = _key_fault(key) or ("" if value is None else _value_fault(key, value))
    if not fault and value is None and key == TITLE:
        fault = "a spec needs a title"
    if fault:
        raise InvalidInput(fault, hint="Choose another key or value.", field=key)


def _key_fault(key: str) -> str:
    if key in DERIVED:
        return f"{key!r} is worked out from the spec, or has an action of its own"
    if not key.strip() or len(key) > _KEY_LIMIT:
        return f"a key has from 1 to {_KEY_LIMIT} characters"
    return ""


def _value_fault(key: str, value: Json) -> str:
    if key in _LISTS:
        return _list_fault(_LISTS[key], value)
    if key in {TITLE, DESCRIPTION, MISSION, *PATHS}:
        needs = "text that is not blank" if key in {TITLE, *PATHS} else "text"
        is_fit = has_text(value) or (needs == "text" and isinstance(value, str))
        return "" if is_fit else f"{key!r} is {needs}"
    if key in _WORDS and not is_one_of(value, _WORDS[key]):
        return f"{key!r} is one of: {', '.join(_WORDS[key])}"
    if depth_of(value, NESTING_LIMIT) > NESTING_LIMIT:
        return f"{key!r} is deeper than {NESTING_LIMIT} levels"
    if len(object_of(value)) > KEYS_LIMIT:
        return f"{key!r} has more than {KEYS_LIMIT} keys"
    return ""


def _list_fault(kind: SpecList, value: Json) -> str:
    if not isinstance(value, list):
        return f"{kind.key!r} is a list"
    entries = cast("list[Json]", value)
    if len(entries) > LIST_LIMIT:
        return f"{kind.key!r} has more than {LIST_LIMIT} entries"
    for index, entry in enumerate(entries):
        if fault := _entry_fault(kind, entry):
            return f"{kind.key}[{index}] {fault}"
    return ""


def _entry_fault(kind: SpecList, entry: Json) -> str:
    """Return the fault of an entry of a list; risks are objects, all others may be texts."""
    if kind is not RISKS and isinstance(entry, str):
        return "" if has_text(entry) else "is empty"
    parts = object_of(entry)
    if not parts:
        return f"is no {kind.what}"
    if not has_text(parts.get(kind.text)):
        return f"has no {kind.text}"
    for name in ("likelihood", "impact"):
        if kind is RISKS and parts.get(name) is not None and not is_one_of(parts[name], LEVELS):
            return f"has a {name} that is none of: {', '.join(LEVELS)}"
    return ""


def text_in(kind: SpecList, entry: Json) -> str:
    """Return the words of an entry of a list."""
    return text_of(entry) or text_of(object_of(entry).get(kind.text))


def extended(kind: SpecList, before: Json, entry: Json) -> list[Json]:
    """Return a list with one entry more; Conflict for a duplicate, InvalidInput for an invalid entry."""
    fault = _entry_fault(kind, entry)
    entries = items_of(before)
    if not fault and len(text_in(kind, entry)) > FIELD_LIMIT:
        fault = f"is longer than {FIELD_LIMIT} characters"
    if not fault and len(entries) >= LIST_LIMIT:
        fault = f"is one too many: {LIST_LIMIT} are the most"
    if fault:
        raise InvalidInput(f"the {kind.what} {fault}", hint="Correct it and try again.")
    words = text_in(kind, entry).strip()
    for index, other in enumerate(entries):
        if same(other, entry) or text_in(kind, other).strip() == words:
            raise Conflict(
                f"there is this {kind.what} already: {kind.letter}-{index + 1}",
                hint="Nothing has to be added.",
                error_code="DUPLICATE_ENTRY",
                id=f"{kind.letter}-{index + 1}",
            )
    return [*entries, entry]


def numbered(kind: SpecList, entries: Json) -> list[dict[str, Json]]:
    """Return the entries of a list as objects, each with its id and its position from 1."""
    objects: list[dict[str, Json]] = []
    for index, entry in enumerate(items_of(entries), 1):
        words: dict[str, Json] = {kind.text: text_in(kind, entry)}
        objects.append(
            {**words, **object_of(entry), "id": f"{kind.letter}-{index}", "index": index}
        )
    return objects


def revised(
    before: Json, version: str, changes: str, date: str, author: str
) -> tuple[list[Json], dict[str, Json]]:
    """Return a history with one revision more, and that; Conflict for a version that it has."""
    revisions = items_of(before)
    if any(object_of(revision).get("version") == version for revision in revisions):
        raise Conflict(
            f"there is a revision {version!r} already",
            hint="Choose another version.",
            error_code="DUPLICATE_ENTRY",
        )
    entry: dict[str, Json] = {
        "version": version,
        "date": date,
        "changelog": changes,
        "author": author,
    }
    return [*revisions, entry], entry
