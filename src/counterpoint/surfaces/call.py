"""What a tool of any surface sees: the core for its caller, and a secret."""

from __future__ import annotations

from dataclasses import dataclass, field

from counterpoint.core.coordinator import Core


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool: made for it, used by one thread, then thrown away.

    secret: signs the cursors of paged answers; the same for every process of a project.
    """

    core: Core
    secret: bytes = field(repr=False)
