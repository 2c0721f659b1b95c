"""What our own dialects bring to every ledger: nouns, and tables of states.

An item or a brief can be met by every dialect and command, whichever made it: so these are known as
soon as a store can be opened, and not only when a connection speaks the dialect. That is why the tables
of ours stand here and not in `Dialect.lifecycles`, which is read when a dialect is first asked for.
"""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.lifecycles import Lifecycle, register
from counterpoint.core.model.rows import Noun
from counterpoint.dialects.agentic.nouns.briefs import BRIEF, Brief
from counterpoint.dialects.agentic.nouns.writing import WritingOrder, WrittenText
from counterpoint.dialects.colibri.nouns import STAGED, Action
from counterpoint.dialects.foundry.nouns.autonomy import (
    AUTONOMY,
    GateEvidence,
    SessionStep,
    SpecSession,
)
from counterpoint.dialects.foundry.nouns.research import ResearchStep, ResearchStudy

NOUNS: Final[tuple[type[Noun], ...]] = (
    *(Action, Brief, SpecSession, SessionStep, GateEvidence),
    *(ResearchStudy, ResearchStep),
    *(WritingOrder, WrittenText),
)

TABLES: Final[tuple[Lifecycle, ...]] = (STAGED, BRIEF, AUTONOMY)

for _table in TABLES:
    register(_table)
