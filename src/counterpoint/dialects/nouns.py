"""What our own dialects bring to every ledger: nouns, and tables of states.

An item or a brief can be met by every dialect and command, whichever made it: so these are known as
soon as a store can be opened, and not only when a connection speaks the dialect. That is why the tables
of ours stand here and not in `Dialect.lifecycles`, which is read when a dialect is first asked for.

A short command meets none of them, so each is loaded when it is first asked for: by its table, or by the name of its states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from counterpoint.core.model import catalogue, lifecycles
from counterpoint.core.model.catalogue import lazy_import
from counterpoint.core.model.lifecycles import Lifecycle
from counterpoint.core.model.rows import Noun

_OURS: Final = "counterpoint.dialects"
_LATER: Final[Mapping[str, Callable[[], type[Noun]]]] = {
    "actions": lazy_import(f"{_OURS}.colibri.nouns", "Action"),
    "briefs": lazy_import(f"{_OURS}.agentic.nouns", "Brief"),
    "spec_sessions": lazy_import(f"{_OURS}.foundry.models.runs", "SpecSession"),
    "session_steps": lazy_import(f"{_OURS}.foundry.models.runs", "SessionStep"),
    "gate_evidence": lazy_import(f"{_OURS}.foundry.models.runs", "GateEvidence"),
    "research_studies": lazy_import(f"{_OURS}.foundry.models.research", "ResearchStudy"),
    "research_steps": lazy_import(f"{_OURS}.foundry.models.research", "ResearchStep"),
    "writing_orders": lazy_import(f"{_OURS}.agentic.nouns", "WritingOrder"),
    "written_texts": lazy_import(f"{_OURS}.agentic.nouns", "WrittenText"),
}
NOUNS: Final = catalogue.Nouns((), _LATER)
EVERY: Final = catalogue.NOUNS.followed_by(_LATER)
"""What the product has tables for: the nouns of the core and these."""

TABLES: Final[Mapping[str, Callable[[], Lifecycle]]] = {
    "staged": lazy_import(f"{_OURS}.colibri.nouns", "STAGED"),
    "brief": lazy_import(f"{_OURS}.agentic.nouns", "BRIEF"),
    "autonomy": lazy_import(f"{_OURS}.foundry.models.runs", "AUTONOMY"),
}
"""What loads each table of states, by its name."""

for _name, _table in TABLES.items():
    lifecycles.announce(_name, _table)
