"""The tool of research."""

from __future__ import annotations

from counterpoint.dialects.foundry.tools.research.deep import DEEP
from counterpoint.dialects.foundry.tools.research.fetching import FETCHING
from counterpoint.dialects.foundry.tools.research.nodes import NODES
from counterpoint.dialects.foundry.tools.research.talking import TALKING
from counterpoint.dialects.foundry.tools.research.thinking import THINKING
from counterpoint.protocol.actions import of_actions

_CHAT, *_THREADS = TALKING

research = of_actions(
    "research",
    "Research with AI models; all is kept.",
    (_CHAT, *THINKING, *_THREADS, *DEEP, *NODES, *FETCHING),
)
