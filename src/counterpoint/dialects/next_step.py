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


def next_step(awaiting: Awaiting | None, phrases: Phrases) -> str:
    """Return in words what comes next about a review; empty if nothing waits for one."""
    if awaiting is None:
        return ""
    text = say(_SAID[awaiting.step].replace("{id}", awaiting.item.id), phrases)
    return text.replace("{why}", why_back(awaiting))


def why_back(awaiting: Awaiting, max_bytes: int = 500) -> str:
    """Return what to mend, who sent an item back and why; empty if nobody did."""
    rejection = awaiting.rejection
    if rejection is None:
        return ""
    fixes = "; ".join(clip(text, max_bytes) for text in rejection.fixes)
    fix = f"fix: {fixes}; " if fixes else ""
    return f"{fix}rejected by {rejection.agent}, because {clip(rejection.reason, max_bytes)}."
