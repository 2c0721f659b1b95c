"""Which acts people sign, and what the entry of each may write.

(1) An entry of a person has one of these actions, and writes rows of its tables and of `confirmations` alone.
(2) Of `verdicts` it writes one row at most, whole: its `item` is the subject of the entry, its `decision` what the action says, and its id
    and `subject` are the facts `verdict` and `subject`.

A person signs the act, its subject and what was decided, and no rows, for they follow from the tables as they are when the act lands. So
whoever puts rows into such an entry, as long as the head above it is not signed, has only those that the act writes anyway; what becomes
of gates is for policy.py, and of keys, credentials and epochs one row stands in an entry, which its facts tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from counterpoint.core.ledger.people.joint import PROPOSALS, SIGNERS
from counterpoint.core.ledger.witnesses.quorum import CHANGED
from counterpoint.core.model.identity import Confirmation
from counterpoint.core.model.journal import Verdict

_MOVES: Final = frozenset(("claims", "gates", "items", "transitions"))
_JUDGES: Final = _MOVES | {"records", "submissions", Verdict.table}
TABLES: Final[Mapping[str, frozenset[str]]] = {
    **{
        f"{kind}.{decided}": _JUDGES
        for kind in ("change", "item", "phase")
        for decided in ("approved", "rejected")
    },
    "blocker.resolved": frozenset(("items", "records")),
    "claim.released": _MOVES,
    "configuration.trusted": frozenset(("projects",)),
    "epoch.opened": frozenset(("epochs",)),
    "item.edited": _MOVES,
    "key.enrolled": frozenset(("keys",)),
    "key.recovered": frozenset(("epochs", "keys")),
    "key.revoked": frozenset(("keys",)),
    "policy.changed": frozenset(("projects",)),
    "reads.switched": frozenset(("attributes",)),
    "repository.adopted": frozenset(("attributes",)),
    "text.redacted": frozenset(("erasures",)),
    "token.created": frozenset(("tokens",)),
    "token.renewed": frozenset(("tokens",)),
    "token.revoked": frozenset(("tokens",)),
    CHANGED: frozenset(),
    **dict.fromkeys((SIGNERS, *PROPOSALS), frozenset[str]()),
}
"""The tables that the entry of each act of a person may write."""
_DECISIONS: Final = {"approved": "approve", "rejected": "reject"}


def act_faults(entry: Mapping[str, Any]) -> Iterator[str]:
    """Say in words what an entry of a person does that people do not sign, or writes beside it."""
    tables = TABLES.get(entry["a"])
    if tables is None:
        yield "is an act that people do not sign"
        return
    rows: list[Mapping[str, Any]] = entry.get("r", [])
    strange = {row["t"] for row in rows} - tables - {Confirmation.table}
    for table in sorted(strange):
        yield f"writes to {table}, which its act does not"
    verdicts = [row for row in rows if row["t"] == Verdict.table]
    if len(verdicts) > 1 or not all(_is_told(entry, row) for row in verdicts):
        yield "writes another verdict than it tells"


def _is_told(entry: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    columns: Mapping[str, Any] = row.get("v") or {}
    facts: Mapping[str, Any] = entry.get("f", {})
    decided = (
        columns.get("item"),
        columns.get("decision"),
        row["k"].get("id"),
        columns.get("subject", ""),
    )
    decision = _DECISIONS.get(entry["a"].rpartition(".")[2])
    return decided == (entry.get("s"), decision, facts.get("verdict"), facts.get("subject", ""))
