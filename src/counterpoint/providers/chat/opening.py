"""Joins providers, keys and formats into the port that the core asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from counterpoint.core.model.models import (
    Answer,
    Modelling,
    Provider,
    ProviderKind,
    Question,
    SaidProvider,
)
from counterpoint.core.model.runs import NOT_TOLD
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.models.providers import is_here
from counterpoint.kernel.errors import ProviderBusy, ProviderRefused
from counterpoint.providers.chat.commands import CommandLine
from counterpoint.providers.chat.formats import ChatCompletions, Gemini, Messages, Responses
from counterpoint.providers.format import Draft, Format
from counterpoint.providers.keys import KNOWN, Keys, Known, every, pause, reach

FORMATS: Final[Mapping[ProviderKind, Callable[[], Format]]] = {
    "chat": ChatCompletions,
    "messages": Messages,
    "responses": Responses,
    "gemini": Gemini,
}
NO_MODEL: Final = "counterpoint.toml names no model for it"
_MODEL: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredProviders:
    """Implements the port. said: answers what the project says of models."""

    said: Callable[[], Modelling]
    keys: Keys
    sleep: Callable[[float], None] = field(default=time.sleep)

    def providers(self) -> tuple[Provider, ...]:
        """Return those that the project names, then the others that are known; MalformedDocument."""
        listed = every(self.said().providers, KNOWN, lambda name: SaidProvider(name=name))
        return tuple(self._provider(setting, entry) for setting, entry in listed)

    def _provider(self, setting: SaidProvider, entry: Known | None) -> Provider:
        address = setting.address or (entry.address if entry else "")
        spoken: ProviderKind = "command" if setting.command else "chat"
        kind: ProviderKind = setting.kind or (
            entry.kind if entry and not setting.command else spoken
        )
        model = setting.model or (entry.model if entry else "")
        reason, is_set = self._why_not(setting, kind, address, model)
        return Provider(
            name=setting.name,
            kind=kind,
            description=_description(setting, entry, kind, address),
            model=model,
            models=setting.models,
            address="" if kind == "command" else address,
            command=setting.command,
            reason=reason,
            is_free=kind == "command" or is_here(address),
            is_set=is_set,
        )

    def _why_not(
        self, setting: SaidProvider, kind: ProviderKind, address: str, model: str
    ) -> tuple[str, bool]:
        """Return why a provider cannot be asked, and whether anybody has configured it."""
        if kind == "command" and setting.is_on:
            return self._why_not_run(setting), True
        is_named = bool(setting.address or setting.kind or setting.model)
        reached = reach(setting, address, self.keys, is_named=is_named)
        if reached.reason:
            return reached.reason, reached.is_set
        return ("" if model else NO_MODEL), True

    def _why_not_run(self, setting: SaidProvider) -> str:
        if not setting.command:
            return "counterpoint.toml names no command for it"
        line = CommandLine(provider=setting.name, words=setting.command, environ=self.keys.environ)
        return "" if line.program() else f"the program {setting.command[0]!r} is not installed"

    def ask(self, provider: Provider, question: Question, listen: Listen) -> Answer:
        """Return what one try answers."""
        if provider.kind == "command":
            line = CommandLine(
                provider=provider.name,
                words=provider.command,
                environ=self.keys.environ,
                search_path=provider.search_path,
            )
            return line.ask(question, listen)
        from counterpoint.providers.wire import Sent, listen_to

        key = self.keys.find_for(provider.name, provider.address)
        secret = key.secret if key else ""
        spoken, draft = FORMATS[provider.kind](), Draft()
        sent = Sent(
            provider=provider.name,
            url=provider.address + spoken.path(question),
            headers={"accept": "text/event-stream", **spoken.headers(secret)},
            body=spoken.body(question),
            seconds=question.timeout,
            is_here=is_here(provider.address),
            secret=secret,
        )
        listen_to(sent, lambda name, event: spoken.hear(draft, name, event), listen)
        if draft.stop is None:
            raise ProviderBusy(f"the answer of {provider.name} broke off before its end")
        # A key may be cut in two by events.
        text = sent.without_secret("".join(draft.parts))
        if draft.stop == "refused" and not text:
            raise ProviderRefused(f"{provider.name} declined to answer this")
        return Answer(
            text=text,
            stop=draft.stop,
            provider=provider.name,
            model=" ".join(draft.model.split())[:_MODEL] or question.model,
            tokens=draft.tokens,
            cost_micros=NOT_TOLD,
        )

    def pause(self, seconds: float, listen: Listen) -> None:
        """Wait, and let whoever waits go meanwhile."""
        pause(self.sleep, seconds, listen)


def _description(
    setting: SaidProvider, entry: Known | None, kind: ProviderKind, address: str
) -> str:
    if kind == "command":
        return " ".join(setting.command)
    return entry.description if entry and not setting.address else f"{kind} at {address}"


def open_models(
    load_settings: Callable[[], Modelling], environ: Mapping[str, str]
) -> ConfiguredProviders:
    """Return who is asked for models. environ: the variables of the server, which may have keys and lead to those of its person."""
    return ConfiguredProviders(said=load_settings, keys=Keys(environ=environ))
