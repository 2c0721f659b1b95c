"""The log of refused calls: written, searched, counted and cleaned."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress

from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.rules.secrets import mask
from counterpoint.dialects.foundry.error_log import ErrorLog
from counterpoint.dialects.foundry.nouns.errors import (
    DAYS,
    MOST,
    ErrorFilter,
    ErrorPattern,
    ErrorRecord,
    ErrorStatistics,
)
from counterpoint.dialects.foundry.rules import errors as rules
from counterpoint.kernel.clock import later
from counterpoint.kernel.errors import CounterpointError, NotFound, Unavailable

_A_DAY = 86_400


@contextmanager
def _readable() -> Generator[None]:
    """Report a log that cannot be used; Unavailable."""
    try:
        yield
    except OSError as fault:
        raise Unavailable(f"the errors that are kept cannot be used: {fault.strerror}") from fault


class Errors:
    """Verbs for refused calls."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def note(
        self, tool: str, action: str, code: str, type_: str, refusal: CounterpointError
    ) -> None:
        """Log a refusal, if that can be done at once: no call fails because of it."""
        with suppress(OSError, CounterpointError):
            ports = self._context.ports
            message = mask(rules.without_texts(refusal.message), ports.secrets)
            provider = refusal.facts.get("provider_id", "")
            record = ErrorRecord(
                # In the order of the calls, since several have one timestamp.
                id=f"err_{time.time_ns():016x}{secrets.token_hex(2)}",
                timestamp=ports.clock.now(),
                fingerprint=rules.fingerprint_of(f"{tool} {action}", code, message),
                tool_name=tool,
                action=action,
                error_code=code,
                error_type=type_,
                message=message,
                provider_id=provider if isinstance(provider, str) else "",
            )
            self._log.append(self._context.project, record)

    def find(self, selection: ErrorFilter) -> list[ErrorRecord]:
        """List the selected refusals, the newest first."""
        return list(rules.select_records(reversed(self._load()), selection))

    def get(self, id_: str) -> ErrorRecord:
        """Return one refusal; NotFound."""
        matches = (record for record in self._load() if record.id == id_)
        record = next(matches, None)
        if record is None:
            raise NotFound(
                f"there is no error {id_!r}", hint="Its id stands in the list of errors."
            )
        return record

    def statistics(self) -> ErrorStatistics:
        """Count the refusals by kind."""
        return rules.statistics(self._load())

    def patterns(self, least: int) -> list[ErrorPattern]:
        """List the patterns with so many refusals at least."""
        return rules.patterns(self._load(), least)

    def clean(self, days: int, most: int, *, dry_run: bool) -> tuple[int, int]:
        """Remove refusals older than so many days, and beyond so many; return how many stay and go."""
        since = self._since(days)

        def keep(records: list[ErrorRecord]) -> list[ErrorRecord]:
            return rules.keep_recent(records, since, most)

        if not dry_run:
            with _readable(), recording(self._context, "errors.cleaned") as change:
                stay, go = self._log.clean(self._context.project, keep)
                change.add_facts(stay=stay, go=go)
            return stay, go
        with _readable():
            seen = self._log.read(self._context.project)
        return len(keep(seen)), len(seen) - len(keep(seen))

    def forget(self, words: Collection[str]) -> None:
        """Remove refusals that contain redacted words; Unavailable."""

        def keep(records: list[ErrorRecord]) -> list[ErrorRecord]:
            return [
                record for record in records if not any(word in record.message for word in words)
            ]

        with _readable():
            seen = self._log.read(self._context.project)
            if len(keep(seen)) < len(seen):
                self._log.clean(self._context.project, keep)

    def now(self) -> str:
        """Return the present moment."""
        return self._context.ports.clock.now()

    def _load(self) -> list[ErrorRecord]:
        with _readable():
            seen = self._log.read(self._context.project)
        return rules.keep_recent(seen, self._since(DAYS), MOST)

    def _since(self, days: int) -> str:
        return later(self._context.ports.clock.now(), -days * _A_DAY)

    @property
    def _log(self) -> ErrorLog:
        return self._context.ports.get(ErrorLog)
