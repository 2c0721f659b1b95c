"""A signer that is a program, of another account or on another machine too.

The program is started by the first question, and speaks the lines of signer_lines.py on its standard streams. It is started again when it
has ended; after one that could not be asked nobody asks again for `PAUSE` seconds, so that no call waits for it twice.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from counterpoint.core.model.trust.heads import Growth, SignedHead
from counterpoint.core.model.trust.writers import WriterGrowth, WriterSignature
from counterpoint.evidence.trust import signer_lines as lines
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, InvalidInput, SignerAway
from counterpoint.kernel.starting.programs import search_path

PATIENCE: Final = 20.0
"""Seconds that an answer may take, the start of the program in it."""
PAUSE: Final = 10.0
_CHUNK: Final = 65_536
_KEPT_BACK: Final = ("COUNTERPOINT_CREDENTIAL",)


@dataclass(kw_only=True)
class CommandSigner:
    """Asks a program to sign. words: the program and its arguments; place: the database that asks."""

    words: Sequence[str]
    place: str
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    _process: subprocess.Popen[bytes] | None = field(init=False, default=None)
    _kept: bytes = field(init=False, default=b"")
    _not_before: float = field(init=False, default=0.0)
    _why: str = field(init=False, default="")
    _turn: threading.Lock = field(init=False, default_factory=threading.Lock, repr=False)

    def known_key(self, ledger: str) -> bytes | None:
        """Return the public key if there is one."""
        answer = self._ask("known_key", ledger=ledger)
        return self._bytes(answer) if answer is not None else None

    def last(self, ledger: str) -> SignedHead | None:
        """Return the head that was signed last."""
        return self._maybe(self._ask("last", ledger=ledger))

    def placed(self) -> dict[str, str]:
        """Return each ledger that was signed in this place by its name, and is not gone."""
        try:
            answer = canonical.object_of(self._ask("placed"))
        except InvalidInput as fault:
            raise SignerAway("what the signer's program says cannot be read") from fault
        return {origin: str(ledger) for origin, ledger in answer.items()}

    def signed(self, ledger: str, size: int) -> SignedHead | None:
        """Return a head of this size of the present epoch."""
        return self._maybe(self._ask("signed", ledger=ledger, size=size))

    def public_key(self, ledger: str) -> bytes:
        """Return the public key, made on first use."""
        return self._bytes(self._ask("public_key", ledger=ledger))

    def sign(self, ledger: str, statement: bytes) -> bytes:
        """Have signed what is neither a head nor of a writer; Forbidden for these."""
        return self._bytes(self._ask("sign", ledger=ledger, statement=statement.hex()))

    def sign_ranges(
        self, ledger: str, origin: str, growths: Sequence[WriterGrowth]
    ) -> list[WriterSignature | None]:
        """Have signed what writers wrote; None for what the program will not sign (any more)."""
        ranges: list[Json] = [lines.range_json(growth) for growth in growths]
        answer = self._ask("sign_ranges", ledger=ledger, origin=origin, ranges=ranges)
        try:
            return lines.signatures_of(answer, growths)
        except (KeyError, TypeError, ValueError) as fault:
            raise SignerAway("what the signer's program says cannot be read") from fault

    def sign_head(self, ledger: str, head: Growth) -> SignedHead:
        """Have a head signed that extends the last one; ForkRefused, StaleVersion."""
        return self._head(self._ask("sign_head", ledger=ledger, head=lines.growth_json(head)))

    def open_epoch(self, ledger: str, head: Growth) -> SignedHead:
        """Have a head signed in an epoch above the last; ForkRefused, Forbidden without a permit."""
        return self._head(self._ask("open_epoch", ledger=ledger, head=lines.growth_json(head)))

    def close(self) -> None:
        """End the program, also in the middle of an answer: whoever waits for it hears that it has ended."""
        process = self._process
        if process is not None:
            process.kill()
        with self._turn:
            self._end()

    def _bytes(self, value: Json) -> bytes:
        try:
            return bytes.fromhex(str(value))
        except ValueError as fault:
            raise SignerAway("what the signer's program says cannot be read") from fault

    def _maybe(self, value: Json) -> SignedHead | None:
        return None if value is None else self._head(value)

    def _head(self, value: Any) -> SignedHead:
        try:
            return lines.head_of(value)
        except (KeyError, TypeError, ValueError) as fault:
            raise SignerAway("what the signer's program says cannot be read") from fault

    def _ask(self, do: str, **fields: Json) -> Json:
        """Return what the program answers; SignerAway, and what it refuses."""
        with self._turn:
            if time.monotonic() < self._not_before:
                raise SignerAway(self._why)
            end = time.monotonic() + PATIENCE
            try:
                if self._process is None:
                    self._start()
                    self._greet(end)
                line = self._exchange(lines.request(do, **fields), end)
            except (OSError, SignerAway) as fault:
                self._end()
                self._not_before = time.monotonic() + PAUSE
                why = fault.message if isinstance(fault, SignerAway) else str(fault)
                self._why = f"the signer's program {self.words[0]!r} cannot be asked: {why}"
                raise SignerAway(self._why) from fault
            return lines.value_of(line)

    def _greet(self, end: float) -> None:
        """Say which place it serves; a program that refuses that is asked for nothing else."""
        try:
            lines.value_of(self._exchange(lines.hello(self.place), end))
        except CounterpointError as refusal:
            raise SignerAway(refusal.message, hint=refusal.steps) from refusal

    def _start(self) -> None:
        self._kept = b""
        self._process = subprocess.Popen(  # noqa: S603 -- the program that a setting of this account names
            self.words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={name: text for name, text in self.environ.items() if name not in _KEPT_BACK}
            | {"PATH": search_path(self.environ.get("PATH"))},
            # What is typed at a terminal ends whoever asks, and not the signer in the middle of a line.
            start_new_session=True,
        )
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)

    def _exchange(self, line: bytes, end: float) -> bytes:
        """Return the next line that the program says after one to it; OSError, SignerAway."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise SignerAway("it was not started")
        write, read = process.stdin.fileno(), process.stdout.fileno()
        unsent = memoryview(line + b"\n")
        poll = select.poll()
        poll.register(read, select.POLLIN)
        poll.register(write, select.POLLOUT)
        while unsent or b"\n" not in self._kept:
            ready = poll.poll(max(0.0, end - time.monotonic()) * 1000)
            if not ready:
                raise SignerAway(f"no answer within {PATIENCE:.0f} seconds")
            # A program that reads nothing takes no more than a pipe holds.
            if unsent and any(descriptor == write for descriptor, _ in ready):
                unsent = unsent[os.write(write, unsent) :]
                if not unsent:
                    poll.unregister(write)
                continue
            piece = os.read(read, _CHUNK)
            if not piece:
                raise SignerAway("it has ended")
            self._kept += piece
            if len(self._kept) > lines.LONGEST:
                raise SignerAway("it says more than an answer has")
        answer_line, _, self._kept = self._kept.partition(b"\n")
        return answer_line

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        process.kill()
        process.wait()
