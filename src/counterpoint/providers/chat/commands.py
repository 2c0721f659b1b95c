"""Command lines of agents as providers: given a question, they print an answer.

The program runs in an empty folder of its own, with the question on its input, or as a word where the command has `{prompt}`; `{model}` is the model. It sees
the variables that it needs to find its own login, and none that look like a secret. What it prints is read as what these programs print: one JSON result (Claude Code, Cursor,
Gemini), events of JSON on lines (Codex, OpenCode), else the text itself. Whatever is left of its group of processes ends with the answer.
"""

from __future__ import annotations

import errno
import json
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, Final, cast

from counterpoint.core.model.models import Answer, Question, Tokens
from counterpoint.core.model.runs import NOT_TOLD
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.secrets import mask
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import (
    InvalidInput,
    ProviderAway,
    ProviderFailed,
    ProviderRefused,
    ProviderTimedOut,
    QuestionTooLong,
)
from counterpoint.kernel.matching.expressions import expression
from counterpoint.kernel.starting import programs
from counterpoint.providers.format import count, table, words

LARGEST: Final = 8_000_000
TICK: Final = 1.0
_SAID: Final = 300
_DOLLARS: Final = 10_000
"""What no answer costs; a program that says so is not believed."""
_PASSED: Final = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR"})
_PASSED_STARTS: Final = ("LC_", "XDG_")
_TO_KEYS: Final = frozenset({"XDG_RUNTIME_DIR"})
_LINE: Final = expression(r"\{(prompt|model)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """One such program. search_path: the folders it is found in; empty: those of the server."""

    provider: str
    words: tuple[str, ...]
    environ: Mapping[str, str] = field(repr=False)
    search_path: str = ""

    def program(self) -> str | None:
        """Return where the program is; None if it is not installed."""
        return programs.find_program(self.words[0], self.search_path or self.environ.get("PATH"))

    def ask(self, question: Question, listen: Listen) -> Answer:
        """Return what the program answers: ProviderFailed, ProviderTimedOut, ProviderAway."""
        program = self.program()
        if program is None:
            raise ProviderAway(f"the program {self.words[0]!r} is not installed")
        if question.model.startswith("-"):
            raise ProviderRefused(f"{question.model[:80]!r} is no name of a model")
        text = _text(question)
        # What whoever asks says is never taken for an option.
        argument = f" {text}" if text.startswith("-") else text
        filled = {"prompt": argument, "model": question.model}
        argv = [_LINE.sub(lambda slot: filled[slot[1]], word) for word in self.words[1:]]
        by_word = any("{prompt}" in word for word in self.words)
        with tempfile.TemporaryDirectory(prefix="counterpoint-model-") as folder:
            output = self._ran([program, *argv], folder, "" if by_word else text, question, listen)
        return self._read(output, question)

    def _ran(
        self, argv: list[str], folder: str, text: str, question: Question, listen: Listen
    ) -> str:
        """Return what the program printed, once it has ended well."""
        end = time.monotonic() + question.timeout
        running = self._started(argv, folder)
        output, errors = _Output(running.stdout), _Output(running.stderr)
        try:
            _write(running.stdin, text)
            while True:
                try:
                    code = running.wait(min(TICK, max(0.0, end - time.monotonic())))
                    break
                except subprocess.TimeoutExpired:
                    if time.monotonic() >= end:
                        late = f"{self.provider} did not answer within {question.timeout:.0f} s"
                        raise ProviderTimedOut(late) from None
                    listen("")
        finally:
            # It may have left others in its group, which are not waited for.
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            printed, error_text = output.end(), errors.end()
        if code:
            why = mask(" ".join((error_text or printed).split()))[-_SAID:]
            raise ProviderFailed(f"{self.provider} ended with {code}: {why}")
        if not output.is_whole:
            raise ProviderFailed(f"{self.provider} printed more than {LARGEST:,} bytes")
        return printed

    def _started(self, argv: list[str], folder: str) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603 -- a person trusted this command
                argv,
                cwd=folder,
                env=_variables(self.environ, self.search_path),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as fault:
            if fault.errno == errno.E2BIG:
                long = f"the question is too long to be a word of the command of {self.provider}"
                raise QuestionTooLong(long) from fault
            why = fault.strerror or type(fault).__name__
            raise ProviderFailed(f"{self.provider} cannot be started: {why}") from fault

    def _read(self, output: str, question: Question) -> Answer:
        if not output.strip():
            raise ProviderFailed(f"{self.provider} printed no answer")
        try:
            text, tokens, cost = _answer(output)
        except (TypeError, KeyError) as fault:
            raise ProviderFailed(f"{self.provider} prints something else than an answer") from fault
        return Answer(
            text=text,
            stop="end",
            provider=self.provider,
            model=question.model,
            tokens=tokens,
            cost_micros=cost,
        )


class _Output:
    """What a program prints, read while it runs."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        self._parts: list[bytes] = []
        self._left = LARGEST + 1
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: IO[bytes] | None) -> None:
        if pipe is None:
            return
        with pipe, selectors.DefaultSelector() as ready:
            ready.register(pipe, selectors.EVENT_READ)
            # Who has left the group of the program and holds the pipe is not waited for, however much that prints.
            while self._left or not self._over.is_set():
                if not ready.select(TICK):
                    if self._over.is_set():
                        return
                    continue
                # A read of the pipe itself: a buffer would wait until it is full.
                part = os.read(pipe.fileno(), 65_536)
                if not part:
                    return
                self._parts.append(part[: self._left])
                self._left = max(0, self._left - len(part))

    def end(self) -> str:
        """Return it, once the program has ended."""
        self._over.set()
        self._thread.join(3 * TICK)
        return b"".join(self._parts).decode(errors="replace")

    @property
    def is_whole(self) -> bool:
        """Whether the program printed no more than is taken."""
        return self._left > 0


def _write(pipe: IO[bytes] | None, text: str) -> None:
    """Give a program its question, without waiting for it to read that."""

    def write() -> None:
        # A program that does not want to know more closes its input.
        if pipe is not None:
            with suppress(OSError):
                pipe.write(text.encode())
            with suppress(OSError):
                pipe.close()

    threading.Thread(target=write, daemon=True).start()


def _text(question: Question) -> str:
    """Return a question as one text: these programs take no turns, and no schema."""
    parts = [question.system] if question.system else []
    if len(question.messages) == 1:
        parts.append(question.messages[0].text)
    else:
        parts += [f"{message.role}: {message.text}" for message in question.messages]
    if question.schema is not None:
        schema = json.dumps(dict(question.schema))
        parts.append(f"Answer with JSON alone that follows this JSON schema:\n{schema}")
    return "\n\n".join(parts)


def _variables(environ: Mapping[str, str], search_path: str) -> dict[str, str]:
    variables = {
        name: value
        for name, value in environ.items()
        if (name in _PASSED or name.startswith(_PASSED_STARTS)) and name not in _TO_KEYS
    }
    return variables | {"PATH": programs.search_path(search_path or environ.get("PATH"))}


def _answer(output: str) -> tuple[str, Tokens, int]:
    """Return text, tokens and cost of what a program printed."""
    whole = _json(output)
    if whole is not None:
        if whole.get("is_error") or whole.get("error"):
            raise ProviderFailed(
                f"it says: {mask(str(whole.get('result') or whole.get('error')))[:_SAID]}"
            )
        cost = _cost(whole.get("total_cost_usd"))
        key = "result" if "result" in whole else "response"
        return words(whole[key]), _tokens(table(whole.get("usage"))), cost
    lines = [_json(line) for line in output.splitlines() if line.strip()]
    events = [event for event in lines if event is not None]
    # An answer may well have a line that is JSON: events are nothing else.
    if not events or len(events) < len(lines):
        return output, Tokens(), NOT_TOLD
    tokens = [_tokens(table(event.get("usage"))) for event in events if event.get("usage")]
    return "\n".join(_texts(events)), tokens[-1] if tokens else Tokens(), NOT_TOLD


def _cost(dollars: Any) -> int:
    """Return dollars in millionths of one; NOT_TOLD for what no answer costs."""
    if not isinstance(dollars, int | float) or not 0 <= dollars <= _DOLLARS:
        return NOT_TOLD
    return round(dollars * 1_000_000)


def _texts(events: list[dict[str, Any]]) -> Iterator[str]:
    """Return the texts of events: the last message of Codex, or all parts of OpenCode."""
    messages = [
        table(event.get("item")) for event in events if event.get("type") == "item.completed"
    ]
    texts = [
        words(message["text"]) for message in messages if message.get("type") == "agent_message"
    ]
    yield from texts[-1:] or [
        words(table(event.get("part")).get("text"))
        for event in events
        if event.get("type") == "text"
    ]


def _tokens(usage: Mapping[str, Any]) -> Tokens:
    read = count(usage.get("cache_read_input_tokens"))
    cached = read or count(usage.get("cached_input_tokens"))
    fresh = count(usage.get("input_tokens")) + count(usage.get("cache_creation_input_tokens"))
    return Tokens(input=fresh + read, cached=cached, output=count(usage.get("output_tokens")))


def _json(text: str) -> dict[str, Any] | None:
    """Return the object that a text is; None if it is none."""
    try:
        parsed: Any = canonical.load(text)
    except InvalidInput:
        return None
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else None
