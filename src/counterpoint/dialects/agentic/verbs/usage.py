"""What models were used for in a project, by period, provider and purpose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from counterpoint.core.model.models.uses import RESERVED, ModelDay
from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.agentic.rules.writing import Period, first_day, shown_provider


@dataclass(slots=True, kw_only=True)
class Sum:
    """What some uses come to. requests: those that were asked of a provider; kept: answers that were given again at no cost."""

    requests: int = 0
    kept: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0

    def add(self, day: ModelDay) -> None:
        """Add what was used on a day."""
        self.requests += day.requests - day.kept
        self.kept += day.kept
        self.failures += day.failures
        self.input_tokens += day.input_tokens
        self.output_tokens += day.output_tokens
        self.cost_micros += day.cost_micros


@dataclass(slots=True, kw_only=True)
class Usage:
    """What models were used for since a day (of UTC)."""

    since: str
    whole: Sum = field(default_factory=Sum)
    providers: dict[str, Sum] = field(default_factory=dict[str, Sum])
    purposes: dict[str, Sum] = field(default_factory=dict[str, Sum])

    def add(self, days: Iterable[ModelDay]) -> None:
        """Add what was used on days."""
        for day in days:
            provider = self.providers.setdefault(shown_provider(day.provider), Sum())
            purpose = self.purposes.setdefault(day.purpose.removeprefix("content-"), Sum())
            for total in (self.whole, provider, purpose):
                total.add(day)


class Usages:
    """Verbs for what models were used for."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def since(self, period: Period) -> Usage:
        """Return what models were used for in the period that is now, whatever asked them."""
        usage = Usage(since=first_day(period, self._context.ports.clock.now()))
        with self._context.reading() as view:
            days = view.select(ModelDay)
        usage.add(day for day in days if day.day >= usage.since and day.purpose != RESERVED)
        return usage
