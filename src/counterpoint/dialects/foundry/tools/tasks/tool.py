"""The tool `task`: what is done to the nodes of a spec, and with them."""

from __future__ import annotations

from counterpoint.dialects.foundry.tools.sessions.events import CONFIG
from counterpoint.dialects.foundry.tools.sessions.lifecycle import LIFECYCLE
from counterpoint.dialects.foundry.tools.sessions.waiving import WAIVING
from counterpoint.dialects.foundry.tools.sessions.words import LOCK
from counterpoint.dialects.foundry.tools.steps import STEPS
from counterpoint.dialects.foundry.tools.tasks.batches import BATCHES
from counterpoint.dialects.foundry.tools.tasks.linking import LINKING
from counterpoint.dialects.foundry.tools.tasks.moving import MOVING
from counterpoint.dialects.foundry.tools.tasks.reading import READING
from counterpoint.dialects.foundry.tools.tasks.shaping import SHAPING
from counterpoint.dialects.foundry.words import WORKSPACE
from counterpoint.protocol.actions import of_actions

task = of_actions(
    "task",
    "Work on the tasks of a spec.",
    (*READING, *MOVING, *BATCHES, *SHAPING, *LINKING, *LIFECYCLE, *STEPS, *CONFIG, *WAIVING),
    beside={**WORKSPACE, **LOCK},
    aliases={"path": "workspace"},
)
