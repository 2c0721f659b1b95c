"""Which sort of bundle a file is, and whether it holds."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from counterpoint.core.ledger import sealed
from counterpoint.core.ledger.bundle import verify_bundle
from counterpoint.core.ledger.entry import Parsed
from counterpoint.core.ledger.lines import BundleReport, strip
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import InvalidInput


def verify_any(lines: Iterable[bytes], trusted_key: VerifierKey | None = None) -> BundleReport:
    """Return what a bundle of a ledger or of a session proves; needs no database.

    MalformedDocument if its header cannot be read; every other fault is in the report.
    """
    stream = iter(lines)
    first = next(stream, b"")
    verify = sealed.verify_sealed if _format(first) == sealed.FORMAT else verify_bundle
    return verify(chain((first,), stream), trusted_key)


def _format(line: bytes) -> Parsed:
    try:
        value: Parsed = canonical.load(strip(line))
    except InvalidInput:
        return None
    return value.get("format") if type(value) is dict else None
