"""Looks at one part of a database that may be damaged in any way.

Rule: whatever a damaged database answers, looking at it ends with a fault and never with a fault of the program. Tables of
other types than their nouns give values that nothing can reckon with; that is damage, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from counterpoint.kernel.errors import (
    CircuitOpen,
    CounterpointError,
    StoreBusy,
    StoreCorrupt,
    StoreUnreachable,
)

UNRECKONED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reckoning with values of another sort raises."""


def fault_of(part: Callable[[], None]) -> CounterpointError | None:
    """Look at one part; return what keeps it from being looked at."""
    try:
        part()
    except (CircuitOpen, StoreBusy, StoreUnreachable):
        raise  # it says nothing of the ledger
    except CounterpointError as fault:
        return fault
    except UNRECKONED as fault:
        why = "a text is no UTF-8" if isinstance(fault, UnicodeDecodeError) else str(fault)
        return StoreCorrupt(f"what is kept is of another sort than it must be ({why})")
    return None


def add_once(faults: list[CounterpointError], fault: CounterpointError) -> None:
    """Add a fault, unless it was told already: one reason may keep several parts from being looked at."""
    if all(fault.message != other.message for other in faults):
        faults.append(fault)
