"""The five stages that every call goes through, in this order.

    lock          a call that mutates is alone in its project in this process; reads share
    validate      the arguments against the tool's schema; the tool is not reached if they fail
    audit enter   a row of the call, durable before anything is done
    dispatch      the tool itself
    audit exit    a second row with outcome and digest of the answer, in the tool's own transaction

Rules: (1) Stages are reached in this order; one may be left out, none is gone back to. (2) A call that
its mode does not admit ends at the lock, one that is not valid at the validation; both leave both rows
all the same, and the tool is never reached. (3) A refusal undoes what the tool wrote; its exit row is
written then. (4) Other processes wait for each other at the database's own lock. (5) `server_ping` and
`server_health` answer even where no row can be written. (6) In the mode READONLY no row is written, of
calls that are refused neither.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Literal, get_args
from weakref import WeakValueDictionary

from counterpoint.dialects.call import DATA, Call, has_others_texts
from counterpoint.dialects.colibri.envelope import (
    code_of,
    domain_code,
    present_refusal,
    refuse,
    success,
)
from counterpoint.dialects.colibri.nouns import Action, Asked, Ended, Ending
from counterpoint.dialects.colibri.verbs.actions import Actions
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, Forbidden, InvalidInput, Unavailable
from counterpoint.kernel.ids import SALT_BYTES
from counterpoint.protocol.surface import Run
from counterpoint.protocol.tools import Tool

Stage = Literal["lock", "validate", "audit enter", "dispatch", "audit exit"]
STAGES: Final[tuple[Stage, ...]] = get_args(Stage)

ALWAYS: Final = frozenset({"server_ping", "server_health"})
"""Tools that every mode admits and that answer whatever is wrong."""
_SALT: Final = secrets.token_bytes(SALT_BYTES)
TEST_ENDING: Final = ".test.db"
"""What the path of a database ends in that the mode TEST may write."""


class Turns:
    """A lock that many readers share and a writer has alone; who writes is let in before new readers."""

    def __init__(self) -> None:
        """Begin with nobody inside."""
        self._changed = threading.Condition()
        self._readers = 0
        self._writing = False
        self._waiting = 0

    @contextmanager
    def shared(self) -> Generator[None]:
        """Be inside with other readers."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writing and not self._waiting)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Generator[None]:
        """Be inside with nobody else."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._writing and not self._readers)
                self._writing = True
            finally:
                self._waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._changed.notify_all()


@dataclass(slots=True, kw_only=True)
class Passage:
    """One call on its way through the stages."""

    call: Call
    tool: Tool[Call]
    asked: Asked
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    reached: list[Stage] = field(default_factory=list[Stage])
    entered: Action | None = None
    left: bool = False
    trouble: CounterpointError | None = None

    def reach(self, stage: Stage) -> None:
        """Go on to a stage; AssertionError if that would be back."""
        if self.reached and STAGES.index(stage) <= STAGES.index(self.reached[-1]):
            raise AssertionError(f"{stage} comes before {self.reached[-1]}")
        self.reached.append(stage)

    def admit(self) -> None:
        """Raise Forbidden if the mode does not admit the tool."""
        settings = self.call.settings
        if self.tool.name in ALWAYS:
            return
        mode, mutates = settings.mode, not self.tool.reads
        is_strange = mode == "TEST" and not settings.db.endswith(TEST_ENDING)
        if mode == "MINIMAL" or (settings.is_read_only and mutates) or is_strange:
            hint = "Ask whoever started the server for another mode."
            if is_strange:
                hint = f"The mode TEST needs a database whose path ends in {TEST_ENDING}."
            raise Forbidden(
                f"{self.tool.name} is not admitted in the mode {mode}", hint=hint, mode=mode
            )

    def enter(self) -> None:
        """Write the first row; only the tools that always answer do without."""
        self.reach("audit enter")
        if self.call.settings.is_read_only:
            return
        try:
            self.call.core.use(Actions).sweep()
            self.entered = self.call.core.use(Actions).enter(self.asked)
        except Unavailable as fault:
            if self.tool.name not in ALWAYS:
                raise
            self.trouble = fault

    def dispatch(self, run: Run) -> Json:
        """Run the tool and write the second row with what it changed."""
        entered = self.entered
        if entered is None:
            self.reach("dispatch")
            return self._success(run())

        def whole() -> tuple[Json, Ended]:
            self.reach("dispatch")
            answer = self._success(run())
            self.reach("audit exit")
            return answer, Ended(outcome="ok", answer=digest(answer))

        answer = self.call.core.use(Actions).complete(entered, whole)
        self.left = True
        return answer

    def _success(self, answer: Json) -> Json:
        """Return the envelope of an answer; the note on its texts stands beside `data`, whose fields are those of the contract."""
        envelope = success(answer)
        is_labelled = has_others_texts(self.tool, self.arguments, answer)
        return {**envelope, "note": DATA} if is_labelled and not _has_note(answer) else envelope

    def again(self, answer: Json) -> None:
        """Write the second row of a call whose key had its answer already."""
        if self.entered is not None and not self.left:
            self._leave(Ended(outcome="ok", answer=digest(answer)))

    def refused(self, refusal: CounterpointError) -> Json:
        """Return a refusal in pattern B with its rows written, or raise it for pattern A."""
        code = domain_code(self.tool.name, refusal)
        answer = present_refusal(code, refusal) if code else refuse(refusal)
        outcome: Ending = "domain_error" if code else self._ending(refusal)
        self._leave(Ended(outcome=outcome, answer=digest(answer), code=code or code_of(refusal)))
        if code:
            return answer
        raise refusal

    def broken(self) -> None:
        """Write the second row of a call that ended as nobody foresaw."""
        if self.entered is not None and not self.left:
            self._leave(Ended(outcome="error", code="HANDLER_ERROR"))

    def _ending(self, refusal: CounterpointError) -> Ending:
        if self.reached == ["lock"]:
            return "denied"
        return (
            "invalid" if self.entered is None and code_of(refusal) == "INVALID_PARAMS" else "error"
        )

    def _leave(self, ended: Ended) -> None:
        if self.reached[-1] != "audit exit":
            self.reach("audit exit")
        self.left = True
        if self.entered is not None:
            self.call.core.use(Actions).leave(self.entered, ended)
        elif "audit enter" not in self.reached and not self.call.settings.is_read_only:
            self.call.core.use(Actions).refuse(self.asked, ended)


def _has_note(answer: Json) -> bool:
    return isinstance(answer, dict) and "note" in answer


_current_call: ContextVar[Passage] = ContextVar("passage")
_locks: WeakValueDictionary[tuple[bytes, str], Turns] = WeakValueDictionary()
_locks_guard: Final = threading.Lock()


def around(call: Call, tool: Tool[Call], arguments: Mapping[str, Json], validate: Run) -> Json:
    """Take a call through lock and validation; `rest` validates and goes on to `within`."""
    request = Asked(tool=tool.name, arguments=digest(dict(arguments)))
    pipeline_call = Passage(call=call, tool=tool, asked=request, arguments=arguments)
    lock = get_lock(call)
    with lock.shared() if tool.reads else lock.alone():
        pipeline_call.reach("lock")
        before = _current_call.set(pipeline_call)
        try:
            pipeline_call.admit()
            pipeline_call.reach("validate")
            return validate()
        except CounterpointError as refusal:
            return pipeline_call.refused(refusal)
        finally:
            _current_call.reset(before)
            pipeline_call.broken()


def within(
    _call: Call, tool: Tool[Call], arguments: Mapping[str, Json], key: str | None, run: Run
) -> Json:
    """Take a valid call through the other stages, under its idempotency key if it has one."""
    pipeline_call = _current_call.get()
    core = pipeline_call.call.core
    pipeline_call.enter()
    if key is None:
        return pipeline_call.dispatch(run)
    request: dict[str, Json] = {"tool": tool.name, "arguments": dict(arguments)}
    answer = core.once(key, request, lambda: pipeline_call.dispatch(run))
    pipeline_call.again(answer)
    return answer


def trouble() -> CounterpointError | None:
    """Return why no row could be written for the call under way; None if one was."""
    return _current_call.get().trouble


def get_lock(call: Call) -> Turns:
    """Return the lock of a project; every connection of this process has the same."""
    key = (call.secret(), call.core.project)
    with _locks_guard:
        lock = _locks.get(key)
        if lock is None:
            lock = _locks[key] = Turns()
        return lock


def digest(value: Json) -> str:
    """Return what tells equal values of one process apart from others; empty if there is none.

    The salt is never written down: what is kept of a call is no means to guess what was said in it.
    """
    try:
        return canonical.commitment(_SALT, canonical.dump(value).decode())
    except InvalidInput:
        # A number that is not whole, or a name that is not ASCII: arguments that are refused anyway.
        return ""
