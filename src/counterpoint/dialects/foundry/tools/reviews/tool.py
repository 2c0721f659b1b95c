"""The tool of reviews."""

from __future__ import annotations

from counterpoint.dialects.foundry.tools.reviews.gates import fidelity, fidelity_gate
from counterpoint.dialects.foundry.tools.reviews.specs import (
    list_plan_tools,
    list_tools,
    parse_feedback,
    spec,
)
from counterpoint.protocol.actions import of_actions

review = of_actions(
    "review",
    "Review specs, and work beside them.",
    (spec, fidelity, fidelity_gate, parse_feedback, list_tools, list_plan_tools),
)
