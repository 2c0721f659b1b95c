"""Ledgers whose heads the repository of a project has, though they may be gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from counterpoint.evidence.trust.known import KnownLedger
from counterpoint.kernel.clock import Clock


def known_heads(home: Path, environ: Mapping[str, str], clock: Clock) -> Iterator[KnownLedger]:
    """List the ledgers whose heads the repository of a folder has; Unavailable."""
    # Loaded here: it is asked for only where a ledger is missing.
    from counterpoint.evidence.witnesses.gitref import GitRef, open_git

    for witness in open_git(home, environ, clock):
        if isinstance(witness, GitRef):
            for ledger, head in witness.all():
                name = head.note.partition("\n")[0].rpartition("/")[2]
                yield KnownLedger(ledger=ledger, project=name, since="")
