"""What the end of a task leaves to be done about a review, said in words."""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.answers import Awaiting, Step
from counterpoint.dialects.paging import clip
from counterpoint.kernel.acts import Act, Phrases, say

_SAID: Final[dict[Step, str]] = {
    "submit": f"All work below {{id}} is done and its review is asked for. {Act.HAND_IN}.",
    "review": f"{{id}} waits for a verdict. {Act.REVIEW}.",
    "mend": f"{{id}} was sent back: {{why}} When that is mended: {Act.HAND_IN}.",
}


def next_step(found: Awaiting | None, phrases: Phrases) -> str:
    """Return in words what comes next about a review; empty if nothing waits for one."""
    if found is None:
        return ""
    text = say(_SAID[found.step].replace("{id}", found.item.id), phrases)
    return text.replace("{why}", why_back(found))


def why_back(found: Awaiting, room: int = 500) -> str:
    """Return what to mend, who sent an item back and why; empty if nobody did."""
    said = found.rejection
    if said is None:
        return ""
    fixes = "; ".join(clip(one, room) for one in said.fixes)
    fix = f"fix: {fixes}; " if fixes else ""
    return f"{fix}rejected by {said.agent}, because {clip(said.reason, room)}."
