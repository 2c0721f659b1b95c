"""What a store finds wrong, but for rows and entries that a test made up."""

from __future__ import annotations

from counterpoint.core.ports.store import Store

_WITHOUT_LEDGER = ("which has no ledger", "of the tree of")


def faults_of(store: Store) -> list[str]:
    """Answer each fault in words."""
    told = [one.message for one in store.faults()]
    return [one for one in told if not any(words in one for words in _WITHOUT_LEDGER)]
