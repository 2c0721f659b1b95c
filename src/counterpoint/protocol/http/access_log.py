"""What is logged of a request: a line of the log, in no words of the caller's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from starlette.types import Message, Send

from counterpoint.protocol.http import guards
from counterpoint.protocol.http.guards import Refused
from counterpoint.protocol.surface import Surface


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessLogLine:
    """One request as the log tells it: never a token, never what was said."""

    method: str
    path: str
    status: int
    outcome: str
    ms: float
    rpc: str = ""
    tool: str = ""
    grant: str = ""


@dataclass(slots=True, kw_only=True)
class RequestRecord:
    """What becomes known of a request on its way."""

    rpc: str = ""
    tool: str = ""
    outcome: str = ""
    status: int = 0
    retry_after: int = 0
    streams: bool = False
    number: str | int | None = None
    """The id of a request, which an answer in the server's own words needs."""
    lost_error: Mapping[str, Any] | None = None
    """What is said in place of its answer if the end of the server overtakes it."""


class ResponseObserver:
    """Passes an answer on and notes whether it is a refusal: from plain answers, not from streams."""

    def __init__(
        self,
        send: Send,
        visit: RequestRecord,
        *,
        streams: bool,
        keep: Callable[[bytes], None] | None = None,
    ) -> None:
        self._send = send
        self._visit = visit
        self._streams = streams
        self._keep = keep

    async def __call__(self, message: Message) -> None:
        body = message.get("body", b"")
        if body and not self._streams:
            self._visit.outcome = _outcome(body)
            if self._keep is not None and self._visit.outcome == "ok":
                self._keep(body)
        await self._send(message)


def _outcome(body: bytes) -> str:
    """Return what became of a message: `ok`, `refused` by a tool, or an `error` of the protocol."""
    try:
        answer = guards.read_message(body)
    except Refused:
        return "error"
    if "error" in answer:
        return "error"
    result: Any = answer.get("result")
    refused = isinstance(result, dict) and cast("dict[str, Any]", result).get("isError") is True
    return "refused" if refused else "ok"


def present_of(surface: Surface[Any], message: Mapping[str, Any]) -> tuple[str, str]:
    """Return the method, and the tool if it is one of ours: what a caller wrote is not logged."""
    method, name = message.get("method"), guards.params_of(message).get("name")
    is_known = method == "tools/call" and isinstance(name, str) and surface.find(name) is not None
    return (method if isinstance(method, str) else "other"), (str(name) if is_known else "")


def takes_long(surface: Surface[Any], message: Mapping[str, Any]) -> bool:
    """Whether what is called may take minutes: it tells how it is getting on."""
    part = surface.called_part(message)
    return part is not None and part.parameters.progress is not None
