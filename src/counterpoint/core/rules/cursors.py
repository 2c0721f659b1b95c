"""Cursors for paged answers: signed, and bound to the query they continue.

Layout: base64url(MAC ‖ body), where body is the canonical JSON of the position and MAC the first 12 bytes
of HMAC-SHA-256 over the canonical query, a zero byte, and the body.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput

_MAC_BYTES = 12


def seal(secret: bytes, query: Json, position: Json) -> str:
    """Return the cursor for a position of a query."""
    body = canonical.dump(position)
    return _text(_mac(secret, query, body) + body)


def unseal(secret: bytes, query: Json, cursor: str) -> Json:
    """Return the position of a cursor; InvalidInput if it is not ours or of another query."""
    refused = InvalidInput(
        "the cursor does not belong to this call",
        hint="Repeat the call with the same arguments, or leave `cursor` out to start again.",
        argument="cursor",
    )
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except (binascii.Error, ValueError):
        raise refused from None
    mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    if _text(raw) != cursor or not hmac.compare_digest(mac, _mac(secret, query, body)):
        raise refused
    return canonical.load(body)


def _text(raw: bytes) -> str:
    """Return the only spelling of the bytes: base64 alone would let some letters be changed."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _mac(secret: bytes, query: Json, body: bytes) -> bytes:
    message = canonical.dump_any(query).encode() + b"\0" + body
    return hmac.digest(secret, message, hashlib.sha256)[:_MAC_BYTES]
