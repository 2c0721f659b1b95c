"""What a client is told of a request whose answer never comes, whichever process has ended.

The relay imports this, so it is the standard library only.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    Json = dict[str, Any]

_CODE: Final = "server_gone"
_INTERNAL_ERROR: Final = -32603


def lost_call_error(*, only_reads: bool, has_key: bool) -> Json:
    """Return the JSON-RPC error of a lost request: its code, message and data.

    only_reads: whether it changes nothing. has_key: whether it has an idempotency key.
    """
    hint = (
        "It may or may not have been done: look first, then repeat it if it was not."
        " With an idempotency_key a repeat is always safe."
    )
    if only_reads:
        hint = "It only reads: repeat it; another server answers."
    elif has_key:
        hint = "Repeat it with the same idempotency_key: it is done once."
    return _error("The server ended before it answered", only_reads or has_key, hint)


def unread_call_error(*, only_reads: bool, has_key: bool) -> Json:
    """Return the JSON-RPC error of a request whose connection a server has ended because its client read no answers."""
    data = lost_call_error(only_reads=only_reads, has_key=has_key)["data"]
    hint = f"Read the answers that wait, and send fewer requests at once. {data['hint']}"
    message = "The server, which goes on, has ended this connection: too many answers before this one were not read"
    return {
        "code": _INTERNAL_ERROR,
        "message": message,
        "data": {**data, "code": "answers_unread", "hint": hint},
    }


def unbegun_call_error(hint: str) -> Json:
    """Return the JSON-RPC error of a request that a process had not begun when it ended. hint: what to do."""
    return _error("Nothing was done: the server ended before", True, hint)


def _error(message: str, is_safe: bool, hint: str) -> Json:
    data = {"code": _CODE, "safe_to_retry": is_safe, "hint": hint}
    return {"code": _INTERNAL_ERROR, "message": message, "data": data}
