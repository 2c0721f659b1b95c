"""Known providers, their keys, and how each is configured.

Keys of providers: where a person has put them, and where each goes.
A key is looked for in this order: (1) a file of the person's own, `$XDG_CONFIG_HOME/counterpoint/providers/NAME`: JSON with the `address` that the key was given for, and the
`key`, or without one if that lies in the system's keyring; (2) a variable of the server. A file counts if and only if it is a
plain file, no link, of this user, that nobody else can read or write; another one is refused and not passed over. A key that was given for one
address goes to no other.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

from counterpoint.core.model.models import ProviderKind
from counterpoint.core.model.web import SearcherKind
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.models.providers import is_here
from counterpoint.kernel.durable import make_folder
from counterpoint.kernel.errors import InvalidInput, ProviderAway
from counterpoint.kernel.places import provider_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A provider by its name. variables: those of the server's own that may hold its key, the first that does counts."""

    name: str
    kind: ProviderKind
    description: str
    address: str = ""
    model: str = ""
    variables: tuple[str, ...] = ()


KNOWN: Final = {
    provider.name: provider
    for provider in (
        Known(
            name="anthropic",
            kind="messages",
            description="Anthropic's Messages API",
            address="https://api.anthropic.com/v1",
            model="claude-sonnet-5-5",
            variables=("ANTHROPIC_API_KEY",),
        ),
        Known(
            name="openai",
            kind="responses",
            description="OpenAI's Responses API",
            address="https://api.openai.com/v1",
            model="gpt-6.1-terra",
            variables=("OPENAI_API_KEY",),
        ),
        Known(
            name="google",
            kind="gemini",
            description="Google's Gemini API",
            address="https://generativelanguage.googleapis.com/v1beta",
            model="gemini-3.8-flash",
            variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ),
    )
}
"""Those that need nothing but a key, in the order in which they are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSearcher:
    """A provider of searches by its name. price: of one, in millionths of a dollar. has_key: whether it answers nobody without one."""

    name: str
    kind: SearcherKind
    description: str
    address: str
    price: int = 0
    has_key: bool = True
    variables: tuple[str, ...] = ()


SEARCHERS: Final = {
    searcher.name: searcher
    for searcher in (
        KnownSearcher(
            name="tavily",
            kind="tavily",
            description="Tavily's search",
            address="https://api.tavily.com",
            price=8_000,
            variables=("TAVILY_API_KEY",),
        ),
        KnownSearcher(
            name="perplexity",
            kind="perplexity",
            description="Perplexity's search",
            address="https://api.perplexity.ai",
            price=5_000,
            variables=("PERPLEXITY_API_KEY",),
        ),
        KnownSearcher(
            name="google-search",
            kind="google",
            description="Google's Custom Search",
            address="https://customsearch.googleapis.com",
            price=5_000,
            variables=("GOOGLE_SEARCH_API_KEY",),
        ),
        KnownSearcher(
            name="semantic-scholar",
            kind="semantic-scholar",
            description="Semantic Scholar's papers",
            address="https://api.semanticscholar.org/graph/v1",
            has_key=False,
            variables=("SEMANTIC_SCHOLAR_API_KEY",),
        ),
    )
}
"""Those that need a key at most, in the order in which they are asked."""
ENGINE: Final = "GOOGLE_CSE_ID"
"""The variable of the server that may have the id of Google's search engine."""


def variables_of(name: str) -> tuple[str, ...]:
    """Return the variables of the server's own that may hold the key of a provider."""
    provider = KNOWN.get(name) or SEARCHERS.get(name)
    own = f"COUNTERPOINT_{name.upper().replace('-', '_')}_API_KEY"
    return (own, *provider.variables) if provider else (own,)


RING: Final = "counterpoint-providers"
LONGEST: Final = 10_000
_RING_WORDS: Final = "the keyring of the system"
_OTHERS: Final = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The key of a provider. address: that it was given for; empty for any that a person trusted. source: where it was found, in words."""

    secret: str = field(repr=False)
    address: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The keys that this person has. environ: the variables of the server."""

    environ: Mapping[str, str] = field(repr=False)

    @property
    def folder(self) -> Path:
        """The folder of their files."""
        return Path(provider_folder(self.environ))

    def find(self, name: str) -> Key | None:
        """Return the key of a provider, None without one; ProviderAway if its file is not this person's alone."""
        return self._in_file(name) or self._in_variables(name)

    def find_for(self, name: str, address: str) -> Key | None:
        """Return the key for an address, None without one; ProviderAway for one that was given for another."""
        key = self.find(name)
        if key is not None and key.address not in {"", address}:
            raise ProviderAway(
                f"its key was given for {key.address}, and is not sent to {address}",
                hint=f"Have a person run `counterpoint provider login {name}`.",
            )
        return key

    def put(self, name: str, secret: str, address: str, *, in_ring: bool = False) -> str:
        """Keep a key for an address in the place of one before; return where, in words. InvalidInput, ProviderAway."""
        if not secret or len(secret) > LONGEST or not secret.isprintable() or " " in secret:
            raise InvalidInput("this is no key", hint="Give the key alone, on one line.")
        make_folder(self.folder)
        self._check(self.folder.lstat(), self.folder)
        record = {"address": address}
        if in_ring:
            self._asked_of_ring("set_password", name, secret)
        else:
            record["key"] = secret
        path, draft = self.folder / name, self.folder / f".{name}.{os.getpid()}"
        with suppress(FileNotFoundError):
            draft.unlink()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(draft, flags, 0o600), "w") as file:
            file.write(json.dumps(record))
        draft.replace(path)
        return _RING_WORDS if in_ring else str(path)

    def drop(self, name: str) -> bool:
        """Take the key of a provider away, from the keyring too; return whether there was one."""
        path = self.folder / name
        try:
            record = self._load_record(path)
        except ProviderAway:
            # What nobody may rely on is taken away all the same.
            record = {"key": ""}
        if record is None:
            return False
        if "key" not in record:
            self._asked_of_ring("delete_password", name)
        path.unlink()
        return True

    def _in_file(self, name: str) -> Key | None:
        path = self.folder / name
        record = self._load_record(path)
        if record is None:
            return None
        if "key" in record:
            return Key(secret=record["key"], address=record["address"], source=str(path))
        secret = self._asked_of_ring("get_password", name)
        if not secret:
            raise ProviderAway("the system's keyring has not the key that was put there")
        return Key(secret=secret, address=record["address"], source=_RING_WORDS)

    def _load_record(self, path: Path) -> dict[str, str] | None:
        """Return what the file of a key says, None without one; ProviderAway."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise ProviderAway(f"{path} cannot be read ({fault.strerror})") from fault
        with os.fdopen(descriptor, "rb") as file:
            self._check(os.fstat(descriptor), path)
            content = file.read(LONGEST * 2)
        try:
            parsed = json.loads(content)
        except ValueError as fault:
            raise ProviderAway(f"{path} has no key of a provider") from fault
        record = cast("dict[str, Any]", parsed if isinstance(parsed, dict) else {})
        if "address" not in record or not all(isinstance(value, str) for value in record.values()):
            raise ProviderAway(f"{path} has no key of a provider")
        return cast("dict[str, str]", record)

    def _in_variables(self, name: str) -> Key | None:
        variable = next(
            (candidate for candidate in variables_of(name) if self.environ.get(candidate)), None
        )
        if variable is None:
            return None
        return Key(secret=self.environ[variable], address="", source=f"the variable {variable}")

    def _asked_of_ring(self, verb: str, name: str, *more: str) -> str | None:
        """Return what the keyring of the system answers; ProviderAway."""
        try:
            ring, errors = import_module("keyring"), import_module("keyring.errors")
        except ImportError as missing:
            from counterpoint.kernel.extras import install_hint

            raise ProviderAway(
                "a key in the keyring of the system needs the package keyring, which is not installed",
                hint=install_hint("keyring"),
            ) from missing
        try:
            return cast("str | None", getattr(ring, verb)(RING, name, *more))
        except errors.KeyringError as fault:
            # Its words are those of a system, and may be long.
            raise ProviderAway(f"the keyring cannot be used: {type(fault).__name__}") from fault

    def _check(self, status: os.stat_result, path: Path) -> None:
        is_folder = stat.S_ISDIR(status.st_mode)
        is_own = (is_folder or stat.S_ISREG(status.st_mode)) and status.st_uid == os.getuid()
        if not is_own or status.st_mode & _OTHERS:
            mode = "700" if is_folder else "600"
            raise ProviderAway(
                f"{path} is not this account's alone",
                hint=f"Look who could have read it, then run `chmod {mode} {path}`, or take another key.",
            )


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


_TICK: Final = 1.0


def pause(sleep: Callable[[float], None], seconds: float, listen: Listen) -> None:
    """Return after some seconds; `listen` is called with each of them."""
    seconds_left = seconds
    while seconds_left > 0:
        sleep(min(_TICK, seconds_left))
        seconds_left -= _TICK
        listen("")
