"""What an agent is given with its issue: instructions, memory, learnings.

Each is a part of the pages of `get_issue` for the issue that a server was started for; a type that has no `get_issue`
has its memory in `list_issues`. Memory is one text, each file under a line with its scope, name and time. The first
two are told when a connection begins too, as far as they fit.
"""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.work import Item
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.paging import (
    Part,
    clip,
    fitting,
    part_of_list,
    part_of_text,
    size_of,
    sparse,
)
from counterpoint.dialects.symphony.nouns import LearningQuery
from counterpoint.dialects.symphony.scope import tools_of
from counterpoint.dialects.symphony.verbs.learnings import Learnings
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.dialects.symphony.words import present_id
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.visible import visible

GIVEN: Final = ("project_instructions", "memory", "relevant_learnings")
GREETING_BYTES: Final = 7_200
"""The most of what is told when a connection begins, as JSON; the dialect's own instructions stand before it, 8,000 in all."""
_CAPTIONS_BYTES: Final = 500
_MOST: Final = 5
_PATTERN: Final = 600


def load_given_part(call: Call, item: Item, name: str, start: int) -> Part:
    """Return one of the `GIVEN` parts for an agent's issue, from a start on."""
    if name == "project_instructions":
        instructions = call.core.use(Policies).get().instructions
        return part_of_text(instructions.get(call.core.caller.actor.profile, ""), start)
    return (
        load_memory_part(call, start)
        if name == "memory"
        else part_of_list(_learnings(call, item), start)
    )


def greeting(call: Call) -> str:
    """Return the instructions and the memory of the caller's type as a text, labelled as data; empty without any."""
    profile = call.core.caller.actor.profile
    instructions = call.core.use(Policies).get().instructions.get(profile, "")
    texts = {
        f"project_instructions: what the project tells its agents of the type {profile}": instructions,
        f"memory: what agents of the type {profile} have kept for later runs": _memory(call),
    }
    # Invisible characters are made visible first, since that takes more bytes.
    texts = {caption: visible(text) for caption, text in texts.items() if text}
    if not texts:
        return ""
    goes_on = f"… (the rest: `{'list_issues' if has_no_issue(call) else 'get_issue'}`)"
    most_bytes = (GREETING_BYTES - size_of(DATA) - _CAPTIONS_BYTES) // len(texts)
    lines = [DATA]
    for caption, text in texts.items():
        excerpt = text[: fitting(text, most_bytes)]
        lines += [f"--- {caption}", excerpt if excerpt == text else f"{excerpt}{goes_on}"]
        # Bytes that one text does not need go to the next.
        most_bytes += most_bytes - size_of(excerpt)
    return "\n".join((*lines, "--- end"))


def load_memory_part(call: Call, start: int) -> Part:
    """Return the memory of the caller's agent type, from a start on."""
    return part_of_text(_memory(call), start)


def _memory(call: Call) -> str:
    offered = call.core.notebooks.offered(call.core.caller.actor.profile)
    texts = [
        f"=== {page.scope}/{page.name} ({page.updated_at}) ===\n{page.content}\n"
        for page in offered.pages
    ]
    if offered.left_out:
        texts.append(f"=== not given: {', '.join(page.name for page in offered.left_out)} ===\n")
    return "\n".join(texts)


def has_no_issue(call: Call) -> bool:
    """Return whether the type of an agent has no tool that reads an issue."""
    profile = call.core.caller.actor.profile
    return bool(profile) and "get_issue" not in tools_of(profile)


def _learnings(call: Call, item: Item) -> list[Json]:
    """Return the best learnings of other issues for the title of one."""
    try:
        hits = call.core.use(Learnings).find(LearningQuery(query=item.title, limit=2 * _MOST))
    except InvalidInput:  # no word in it
        return []
    others = [hit.learning for hit in hits if hit.learning.record.item != item.id][:_MOST]
    return [
        {
            "id": learning.record.id,
            "pattern": clip(learning.pattern, _PATTERN),
            **sparse(
                context=clip(learning.context, _PATTERN),
                issue=present_id(learning.record.item) if learning.record.item else "",
                verified=learning.is_verified or "",
            ),
        }
        for learning in others
    ]
