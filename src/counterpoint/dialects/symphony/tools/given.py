"""What an agent is given with its issue: instructions, memory, learnings.

Each is a part of the pages of `get_issue` for the issue that a server was started for; a type that has no `get_issue`
has its memory in `list_issues`. Memory is one text, each file under a line with its scope, name and time.
"""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.work import Item
from counterpoint.dialects.call import Call
from counterpoint.dialects.paging import Part, clip, part_of_list, part_of_text, sparse
from counterpoint.dialects.symphony.nouns.learnings import LearningQuery
from counterpoint.dialects.symphony.scope import tools_of
from counterpoint.dialects.symphony.verbs.learnings import Learnings
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.dialects.symphony.words import present_id
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput

GIVEN: Final = ("project_instructions", "memory", "relevant_learnings")
_MOST: Final = 5
_PATTERN: Final = 600


def given(call: Call, item: Item, name: str, place: int) -> Part:
    """Return a part of what an agent is given with its issue, from a place on."""
    if name == "project_instructions":
        told = call.core.use(Policies).get().instructions
        return part_of_text(told.get(call.core.caller.actor.profile, ""), place)
    return memory(call, place) if name == "memory" else part_of_list(_learnings(call, item), place)


def memory(call: Call, place: int) -> Part:
    """Return what the type of an agent remembers, from a place on."""
    offered = call.core.notebooks.offered(call.core.caller.actor.profile)
    texts = [
        f"=== {page.scope}/{page.name} ({page.updated_at}) ===\n{page.content}\n"
        for page in offered.pages
    ]
    if offered.left_out:
        texts.append(f"=== not given: {', '.join(page.name for page in offered.left_out)} ===\n")
    return part_of_text("\n".join(texts), place)


def has_no_issue(call: Call) -> bool:
    """Return whether the type of an agent has no tool that reads an issue."""
    profile = call.core.caller.actor.profile
    return bool(profile) and "get_issue" not in tools_of(profile)


def _learnings(call: Call, item: Item) -> list[Json]:
    """Return the best learnings of other issues for the title of one."""
    try:
        found = call.core.use(Learnings).find(LearningQuery(query=item.title, limit=2 * _MOST))
    except InvalidInput:  # no word in it
        return []
    others = [one.learning for one in found if one.learning.record.item != item.id][:_MOST]
    return [
        {
            "id": one.record.id,
            "pattern": clip(one.pattern, _PATTERN),
            **sparse(
                context=clip(one.context, _PATTERN),
                issue=present_id(one.record.item) if one.record.item else "",
                verified=one.is_verified or "",
            ),
        }
        for one in others
    ]
