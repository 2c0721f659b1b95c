"""What a person signs: one act, as it will stand in one entry.

The statement is a canonical JSON object (RFC 8785 under the profile of kernel.canonical) with exactly these keys:

    act       action of the entry, as `item.approved`
    decision  object: facts of the entry that were known before it, such as the hash of what was reviewed
    head      {"leaf": leaf hash in hex, "n": place} of an entry that was there when it was signed
    key       fingerprint of the key that signs
    nonce     128 random bits: no other statement has it
    project   id of the project
    reason    SHA-256(0x02 || salt || reason) in hex; empty without a reason
    subject   id of the item that the act is about, or empty
    time      when it was made, UTC with milliseconds
    version   1

What is signed is the line `counterpoint/act/v1`, a line feed, and these bytes. There is no prose in it: the reason is kept
beside it as `{"salt": 32 hex digits, "text": reason}`, and can be taken away while everything else is still verified.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from counterpoint.core.ledger.entry import is_digest, is_time
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import InvalidInput, MalformedDocument
from counterpoint.kernel.frozen import frozen

VERSION: Final = 1
_FIRST_LINE: Final = b"counterpoint/act/v1\n"
_KEYS: Final = frozenset(
    ("act", "decision", "head", "key", "nonce", "project", "reason", "subject", "time", "version")
)
_HEAD_KEYS: Final = frozenset(("leaf", "n"))
_SALT_SIZE: Final = 32


@frozen
class Statement:
    """One act that a person decided; place and leaf are those of an entry that was there."""

    project: str
    act: str
    subject: str
    decision: Mapping[str, Json]
    place: int
    leaf: str
    signed_by: str
    nonce: str
    time: Timestamp
    reason: str = ""

    def to_text(self) -> str:
        """Return the canonical JSON."""
        value: dict[str, Json] = {
            "act": self.act,
            "decision": dict(self.decision),
            "head": {"leaf": self.leaf, "n": self.place},
            "key": self.signed_by,
            "nonce": self.nonce,
            "project": self.project,
            "reason": self.reason,
            "subject": self.subject,
            "time": self.time,
            "version": VERSION,
        }
        return canonical.dump(value).decode()

    @classmethod
    def from_text(cls, text: str) -> Statement:
        """Return the statement that a text is; MalformedDocument if it is none."""
        try:
            value = canonical.load(text)
            exact = canonical.dump(value) == text.encode()
        except (InvalidInput, UnicodeEncodeError) as fault:
            raise MalformedDocument("a statement is not JSON") from fault
        if not exact or type(value) is not dict or cast("Any", value.keys()) != _KEYS:
            raise MalformedDocument("a statement is canonical JSON with ten keys")
        fields = cast("dict[str, Any]", value)
        head = canonical.object_of(fields["head"])
        words = ("act", "key", "nonce", "project", "reason", "subject")
        sound = (
            type(fields["version"]) is int
            and fields["version"] == VERSION
            and _is_object(fields["decision"])
            and all(type(fields[word]) is str for word in words)
            and is_time(fields["time"])
            and head.keys() == _HEAD_KEYS
            and type(head["n"]) is int
            and is_digest(head["leaf"])
        )
        if not sound:
            raise MalformedDocument("a field of a statement is of another sort")
        return cls(
            project=fields["project"],
            act=fields["act"],
            subject=fields["subject"],
            decision=fields["decision"],
            place=head["n"],
            leaf=head["leaf"],
            signed_by=fields["key"],
            nonce=fields["nonce"],
            time=fields["time"],
            reason=fields["reason"],
        )


def _is_object(value: object) -> bool:
    return type(value) is dict


def message_of(statement: str) -> bytes:
    """Return the bytes that are signed for the text of a statement."""
    return _FIRST_LINE + statement.encode()


def is_reason(text: str, committed: str) -> bool:
    """Return whether the text that is kept beside a statement is the reason that was signed."""
    try:
        value = canonical.object_of(canonical.load(text))
        return value.keys() == {"salt", "text"} and (
            len(value["salt"]) == _SALT_SIZE
            and canonical.commitment(bytes.fromhex(value["salt"]), value["text"]) == committed
        )
    except (InvalidInput, TypeError, ValueError, AttributeError):
        return False
