"""The key that proves evidence of gates to be as its reviewer left it.

It lies in no file: whoever can write the database cannot make evidence, and where the signer is of another account, nobody of this one can.
"""

from __future__ import annotations

from typing import ClassVar, Final

from counterpoint.core.operations.trust.derived_keys import DerivedKeys

STATEMENT: Final = b"counterpoint gate evidence v1\n"


class EvidenceKeys(DerivedKeys):
    """Those keys, by ledger."""

    statement: ClassVar[bytes] = STATEMENT
