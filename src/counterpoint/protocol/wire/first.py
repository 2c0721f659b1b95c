"""What the SDK answers to plain calls, known before the SDK is loaded.

Loading the SDK takes longer than everything else that a first call needs. So the common ways in which
a client says who it is are known here, with the result that the SDK writes then; tests compare
both, byte by byte. Whoever says it in another way, or more, is left to the SDK.

Known are (1) the envelope of 2026-07-28 with its version, capabilities and the client's name and
version, (2) the handshake of the older eras as a relay passes it on, where it has been answered already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from counterpoint.protocol.surface import Caller

GREETING: Final = "counterpoint-relay"
"""The id of the handshake that a relay passes on; no client hears the answer to it."""

_KEY: Final = "io.modelcontextprotocol/"
_MODERN: Final = "2026-07-28"
_OLDER: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_SAID: Final = {f"{_KEY}protocolVersion", f"{_KEY}clientCapabilities", f"{_KEY}clientInfo"}
_HELLO: Final = {"protocolVersion", "capabilities", "clientInfo"}
_ABLE: Final[Mapping[str, Mapping[str, type]]] = {
    "roots": {"listChanged": bool},
    "sampling": {},
    "elicitation": {"form": dict, "url": dict},
}
_NAMES: Final = {"name", "version", "title", "description", "websiteUrl"}
_DONE: Final = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Who calls, and the result that the SDK would write, but for its text."""

    caller: Caller
    result: Mapping[str, Any]


def read_envelope(meta: object, name: str, version: str, *, guarded: bool) -> Known | None:
    """Return what is known of a call with such a `_meta`; None if the SDK must judge it.

    name, version: those of the server.
    """
    if not isinstance(meta, dict) or cast("dict[str, Any]", meta).keys() != _SAID:
        return None
    fields = {key.removeprefix(_KEY): part for key, part in cast("dict[str, Any]", meta).items()}
    if fields["protocolVersion"] != _MODERN:
        return None
    caller = _caller(fields["clientInfo"], fields["clientCapabilities"], _MODERN, guarded=guarded)
    server = {f"{_KEY}serverInfo": {"name": name, "version": version}}
    return caller and Known(
        caller=caller, result=_result(resultType="complete") | {"_meta": server}
    )


def read_greeting(message: object, *, guarded: bool) -> Known | None:
    """Return what is known of the calls after such a handshake; None if it is not a relay's."""
    if not isinstance(message, dict):
        return None
    fields = cast("dict[str, Any]", message)
    if fields.get("id") != GREETING or fields.get("method") != "initialize":
        return None
    params = fields.get("params")
    if not isinstance(params, dict):
        return None
    parts = cast("dict[str, Any]", params)
    if parts.keys() != _HELLO or parts["protocolVersion"] not in _OLDER:
        return None
    caller = _caller(
        parts["clientInfo"], parts["capabilities"], parts["protocolVersion"], guarded=guarded
    )
    return caller and Known(caller=caller, result=_result())


def ends_greeting(message: object) -> bool:
    """Return whether a message is the last one of a handshake."""
    return message == _DONE


def _result(**more: str) -> dict[str, Any]:
    """Return a result with its keys in the order in which the SDK writes them."""
    content = [{"text": "", "type": "text"}]
    return {"content": content, "isError": False, **more, "structuredContent": None}


def _caller(client: Any, able: Any, version: str, *, guarded: bool) -> Caller | None:
    if not isinstance(client, dict) or not _is_able(able):
        return None
    names = cast("dict[str, Any]", client)
    is_plain = names.keys() <= _NAMES and all(isinstance(text, str) for text in names.values())
    if not is_plain or not names.keys() >= {"name", "version"}:
        return None
    return Caller(
        guarded=guarded, client=names["name"], client_version=names["version"], protocol=version
    )


def _is_able(able: Any) -> bool:
    """Return whether capabilities are of the plain sort that every revision takes."""
    return isinstance(able, dict) and all(
        name in _ABLE
        and isinstance(parts, dict)
        and all(
            isinstance(part, _ABLE[name].get(key, type(None)))
            for key, part in cast("dict[str, Any]", parts).items()
        )
        for name, parts in cast("dict[str, Any]", able).items()
    )
