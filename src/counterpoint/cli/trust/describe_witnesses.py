"""How witnesses are shown at the command line, with the age of what they have."""

from __future__ import annotations

from collections.abc import Iterable

from counterpoint.cli.output import Output
from counterpoint.cli.present import span
from counterpoint.core.model.trust.heads import Witnessed
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, elapsed_ms
from counterpoint.kernel.plurals import counted


def present_witness(witness: Witnessed, now: Timestamp) -> Json:
    """Return a witness as JSON; size, time and age are null if it has no head."""
    if witness.size < 0:
        return {"witness": witness.witness, "size": None, "time": None, "age_seconds": None}
    age = elapsed_ms(Timestamp(witness.time), now) // 1000 if witness.time else None
    return {
        "witness": witness.witness,
        "size": witness.size,
        "time": witness.time or None,
        "age_seconds": age,
    }


def said_of(witness: Witnessed, size: int, now: Timestamp) -> str:
    """Return a witness in words: `git ref: 1,204 of 1,210 entries, 12 min ago`."""
    if witness.size < 0:
        return f"{witness.witness}: no head yet"
    when = f", {span(Timestamp(witness.time), now)} ago" if witness.time else ""
    # Of what is not there it has no part: the ledger was put back, or an epoch has left that.
    of = (
        f" of {counted(size, 'entry')}"
        if witness.size <= size
        else f" entries, and the ledger has {size:,}"
    )
    return f"{witness.witness}: {witness.size:,}{of}{when}"


def print_witnesses(out: Output, witnesses: Iterable[Witnessed], size: int, now: Timestamp) -> None:
    """Show each witness in a line."""
    for witness in witnesses:
        out.line(f"  witness   {said_of(witness, size, now)}")
