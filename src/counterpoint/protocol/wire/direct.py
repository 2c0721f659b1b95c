"""Plain calls of tools on a pipe, answered past the SDK.

The SDK judges the first call of a connection and writes its answer; that call is then the pattern of
those after it. Where `first.py` knows what the SDK would write, the pattern is there before any call,
and the SDK is loaded only for what is not plain. A request is answered directly if and only if (1) it consists of `jsonrpc` "2.0", an
`id`, `method` "tools/call" and `params`, which consist of a `name`, `arguments` and `_meta`, the last
two or one of them perhaps missing, (2) its `_meta` is that of the pattern to the byte, and asks for no
progress, (3) the tool exists and reports no progress, (4) no request of that `id` is under way, (5)
nobody has initialised the connection a second time. Everything else goes the SDK's way.

So only the `id`, the tool and its arguments differ from what the SDK has accepted, and only the `id`
and the outcome from what it has answered. Whatever fills in an answer, the tool is run by
`Surface.answer` in a worker on both ways. As with the SDK, a call that is cancelled is not answered,
and one that the end of the connection overtakes is answered with `server_gone` (kernel/lost_calls.py).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

import orjson

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError
from counterpoint.protocol.surface import Caller, Outcome, Surface
from counterpoint.protocol.tools import Tool
from counterpoint.protocol.wire.first import Known, ends_greeting, read_envelope, read_greeting
from counterpoint.protocol.wire.outbox import Outbox, RequestId
from counterpoint.protocol.workers import Job, Workers

if TYPE_CHECKING:
    from mcp_types import JSONRPCError, JSONRPCResponse

logger = logging.getLogger(__name__)

C = TypeVar("C")

_REQUEST: Final = {"jsonrpc", "id", "method", "params"}
_PARAMS: Final = {"name", "arguments", "_meta"}
_WANTS_PROGRESS: Final = "progressToken"
_INTERNAL_ERROR: Final = -32603


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pattern(Generic[C]):
    """A call that the SDK has accepted: who sent it, in which envelope, and what it answered."""

    envelope: bytes
    call: Callable[[], C]
    result: Mapping[str, Any]

    def line(self, number: RequestId, outcome: Outcome) -> bytes:
        """Return the line that the SDK would write."""
        result = dict(self.result)
        result["content"] = [{**result["content"][0], "text": outcome.text}]
        # The answer was written as text already: it is put in as it is, not read and written again.
        result["structuredContent"] = orjson.Fragment(outcome.text)
        result["isError"] = outcome.is_error
        return orjson.dumps({"jsonrpc": "2.0", "id": number, "result": result}) + b"\n"


@dataclass(eq=False, slots=True, kw_only=True)
class _Asked:
    """A call under way.

    is_told: its answer is written. is_over: it is not to be, by whoever has not written it yet.
    """

    number: RequestId
    request: Mapping[str, Any]
    job: Job[bytes] | None = None
    is_told: bool = False
    is_over: bool = False


class Direct(Generic[C]):
    """The calls of one connection that are answered directly."""

    def __init__(
        self,
        surface: Surface[C],
        workers: Workers,
        outbox: Outbox,
        call_for: Callable[[Caller], C] | None = None,
    ) -> None:
        """Leave everything to the SDK until a call has been learned.

        call_for: makes the calls of who is known before that; without it nobody is.
        """
        self._surface = surface
        self._workers = workers
        self._outbox = outbox
        outbox.on_answer = self._answered
        outbox.lost_error = surface.lost_error
        self._learning: dict[RequestId, tuple[bytes, Callable[[], C]]] = {}
        self._pattern: _Pattern[C] | None = None
        self._telling = threading.Lock()
        self._under_way: set[_Asked] = set()
        self._named: dict[RequestId, _Asked] = {}
        self._is_off = False
        self._call_for = call_for
        self._greeting: Known | None = None

    def greet(self, message: object) -> bool:
        """Take a message of a relay's handshake; answer whether it is one, and may wait."""
        if self._call_for is None or self._pattern is not None:
            return False
        if self._greeting is None:
            self._greeting = read_greeting(message, guarded=self._surface.guarded)
            return self._greeting is not None
        if ends_greeting(message):
            self._pattern = self._make_pattern(self._greeting, b"")
        return self._pattern is not None

    def leave_to_sdk(self) -> None:
        """Know nobody any more by what he says first: the SDK has the first word now."""
        self._call_for = None

    def learn(
        self, number: RequestId | None, params: Mapping[str, Any] | None, call: Callable[[], C]
    ) -> None:
        """Take a call that the SDK has accepted for the pattern, once it is answered.

        call: what makes the calls of whoever sent it.
        """
        if number is None or params is None or self._is_off or not params.keys() <= _PARAMS:
            return
        meta, envelope = params.get("_meta"), _envelope(params)
        wants_progress = isinstance(meta, dict) and _WANTS_PROGRESS in meta
        if envelope is not None and not wants_progress:
            self._learning[number] = envelope, call

    def restart(self) -> None:
        """Note that the connection is being initialised: answer nothing directly if it was before."""
        self._is_off = bool(self._outbox.open or self._pattern)
        self._pattern = None

    def set_apart(self, number: RequestId | None) -> bool:
        """Count a call of the SDK's apart that takes long; return whether there is room for one more of them."""
        return number is None or self._outbox.set_apart(number)

    def take(self, request: object) -> bool:
        """Begin to answer a request; answer whether it is one to be answered directly."""
        plain = _plain(request)
        if plain is None:
            return False
        number, params = plain
        envelope = _envelope(params)
        pattern = self._pattern or self._presumed(params, envelope)
        tool = self._surface.find(params["name"])
        # An unknown tool is an error of the protocol, and progress goes through the SDK's session.
        if pattern is None or tool is None:
            return False
        part = tool.meant(params.get("arguments", {}))
        if part is not None and part.parameters.progress:
            return False
        # Another client, version or capability may be answered in another way: only the SDK knows.
        if envelope != pattern.envelope:
            return False
        self._pattern = pattern
        key = _correlated(number)
        if not self._outbox.open.isdisjoint((key, str(key))):
            # Only the last one of a name can be cancelled, and the SDK has it now.
            self._named.pop(key, None)
            return False
        pending = self._named[key] = _Asked(number=number, request=cast("dict[str, Any]", request))
        self._under_way.add(pending)
        self._outbox.open.add(number)
        work = partial(self._work, pending, pattern, tool, params.get("arguments", {}))
        pending.job = self._workers.submit(work, partial(self._tell, pending))
        return True

    def cancel(self, params: Mapping[str, Any] | None) -> None:
        """Drop the call that a cancellation names: one that has begun runs on, unheard."""
        request_id = (params or {}).get("requestId")
        if isinstance(request_id, bool) or not isinstance(request_id, str | int):
            return
        self._learning.pop(request_id, None)
        pending = self._named.get(_correlated(request_id))
        if pending is not None:
            self._end(pending)

    def close(self) -> None:
        """Return what is still under way with the end of the connection."""
        # A copy: `_end` takes each away.
        for pending in list(self._under_way):
            self._end(pending)
            if not pending.is_told:
                self._refuse(pending.number, self._surface.lost_error(pending.request))

    def _presumed(self, params: Mapping[str, Any], envelope: bytes | None) -> _Pattern[C] | None:
        """Return the pattern of a first call whose envelope is known."""
        if self._call_for is None or self._greeting is not None or not envelope:
            return None
        surface = self._surface
        recognised = read_envelope(
            params["_meta"], surface.name, surface.version, guarded=surface.guarded
        )
        return self._make_pattern(recognised, envelope) if recognised is not None else None

    def _make_pattern(self, recognised: Known, envelope: bytes) -> _Pattern[C] | None:
        call_for = self._call_for
        if call_for is None:
            return None
        call = partial(call_for, recognised.caller)
        return _Pattern(envelope=envelope, call=call, result=recognised.result)

    def _work(
        self, pending: _Asked, pattern: _Pattern[C], tool: Tool[C], arguments: dict[str, Json]
    ) -> bytes:
        """Run a tool in a worker and answer the call; return what the loop has to write."""
        line = pattern.line(pending.number, self._surface.answer(tool, pattern.call, arguments))
        # Written here, the answer does not wait until the loop has been woken.
        with self._telling:
            if pending.is_over or not self._outbox.post_now(line):
                return line
            pending.is_told = True
        return b""

    def _tell(self, pending: _Asked, line: bytes | CounterpointError) -> None:
        if not isinstance(line, bytes):
            logger.error("a call of a tool has ended its thread")
            error = {"code": _INTERNAL_ERROR, "message": "Internal server error"}
            self._refuse(pending.number, error)
        elif line:
            self._outbox.post(line)
        self._end(pending)

    def _refuse(self, number: RequestId, error: Mapping[str, Any]) -> None:
        self._outbox.post(orjson.dumps({"jsonrpc": "2.0", "id": number, "error": error}) + b"\n")

    def _end(self, pending: _Asked) -> None:
        """Take a call as done; what it still answers is dropped."""
        with self._telling:
            pending.is_over = True
        if pending.job is not None:
            pending.job.drop()
        self._under_way.discard(pending)
        key = _correlated(pending.number)
        if self._named.get(key) is pending:
            del self._named[key]
        self._outbox.settle(pending.number)

    def _answered(self, answer: JSONRPCResponse | JSONRPCError) -> None:
        """Make the pattern of a call that was learned."""
        from mcp_types import JSONRPCResponse

        learned = self._learning.pop(answer.id, None) if answer.id is not None else None
        if learned is not None and isinstance(answer, JSONRPCResponse) and not self._is_off:
            envelope, call = learned
            self._pattern = _Pattern(envelope=envelope, call=call, result=answer.result)


def _plain(request: object) -> tuple[RequestId, dict[str, Any]] | None:
    """Return the number and the parameters of a plain call; None for anything else."""
    if not isinstance(request, dict) or request.keys() != _REQUEST:
        return None
    fields = cast("dict[str, Any]", request)
    number, params = fields["id"], fields["params"]
    is_call = fields["method"] == "tools/call" and fields["jsonrpc"] == "2.0"
    if not is_call or isinstance(number, bool) or not isinstance(number, str | int):
        return None
    if not isinstance(params, dict) or not params.keys() <= _PARAMS:
        return None
    plain = cast("dict[str, Any]", params)
    is_whole = isinstance(plain.get("name"), str) and isinstance(plain.get("arguments", {}), dict)
    return (number, plain) if is_whole else None


def _correlated(number: RequestId) -> RequestId:
    """Return an id as the SDK compares it: the text "7" and the number 7 are one."""
    try:
        return int(number)
    except ValueError:
        return number


def _envelope(params: Mapping[str, Any]) -> bytes | None:
    """Return what comes with a call beside its tool and arguments, as bytes; empty if nothing.

    None if it is nested so deep that nobody can write it.
    """
    try:
        return orjson.dumps(params["_meta"]) if "_meta" in params else b""
    except orjson.JSONEncodeError:
        return None
