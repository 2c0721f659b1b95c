"""Walks the providers that a project names, and says why one cannot be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from counterpoint.core.rules.models.addresses import is_here
from counterpoint.kernel.errors import ProviderAway
from counterpoint.providers.keys import Keys

_OFF: Final = "counterpoint.toml turns it off"
_NOWHERE: Final = "counterpoint.toml says neither an address nor a known name"
_NO_KEY: Final = "it has no key"


class Said(Protocol):
    """A provider as a project says it."""

    @property
    def name(self) -> str:
        """By what it is called."""
        ...

    @property
    def is_on(self) -> bool:
        """Whether it is to be asked at all."""
        ...


S = TypeVar("S", bound=Said)
K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Whether a provider can be asked. reason: why not; empty if it can. is_set: whether anybody has configured it."""

    reason: str
    is_set: bool


def every(
    settings: Iterable[S], known_by_name: Mapping[str, K], unsaid: Callable[[str], S]
) -> Iterator[tuple[S, K | None]]:
    """Return those that a project names, then the others that are known, each with what is known of it. unsaid: makes one of a name alone."""
    names = set[str]()
    for setting in settings:
        names.add(setting.name)
        yield setting, known_by_name.get(setting.name)
    for name, entry in known_by_name.items():
        if name not in names:
            yield unsaid(name), entry


def reach(
    setting: Said, address: str, keys: Keys, *, is_named: bool, is_open: bool = False
) -> Reach:
    """Return whether a provider can be asked at an address. is_named: whether the project says more of it than its name; is_open: whether it answers without a key."""
    if not setting.is_on:
        return Reach(reason=_OFF, is_set=is_named)
    if not address:
        return Reach(reason=_NOWHERE, is_set=is_named)
    try:
        key = keys.find_for(setting.name, address)
    except ProviderAway as fault:
        return Reach(reason=_with_next_step(fault), is_set=True)
    if key is None and not is_open and not is_here(address):
        return Reach(reason=_NO_KEY, is_set=is_named)
    return Reach(reason="", is_set=key is not None or is_named)


def _with_next_step(fault: ProviderAway) -> str:
    """Return why a key does not count, with what to do about it where that is said of this very key."""
    if fault.hint == ProviderAway.default_hint:
        return fault.message
    return f"{fault.message} ({fault.hint.rstrip('.')})"
