"""Who sits at the board: codes to log in with, and the sittings that they begin.

1. A code is 256 random bits, lasts `CODE_SECONDS` and opens one sitting. It is minted over the server's private socket for
whoever the kernel attests at the other end, so that what the sitting does is that caller's.
2. A sitting is another 256 random bits in a cookie and lasts `SITTING_SECONDS`. Of both only the SHA-256 is kept, in memory.
3. What a form posts carries an HMAC of the sitting, which no page of another site can read.
4. Memory is bounded: of codes and of sittings the oldest goes when there are too many.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, Final, Protocol

from counterpoint.core.coordinator import Core
from counterpoint.core.model.foreign import ForeignWork
from counterpoint.core.model.identity import Confirmation
from counterpoint.core.model.work import Item
from counterpoint.kernel.errors import Forbidden, Unavailable

CODE_SECONDS: Final = 60
SITTING_SECONDS: Final = 12 * 3600
MAX_CODES: Final = 16
MAX_SITTINGS: Final = 64
MAX_WRONG: Final = 5
"""Refused passphrases after which a sitting ends."""
_SECRET_BYTES: Final = 32
_FORM: Final = b"form of the board"

ReadChanges = Callable[[Core, Item], Any]
"""(core, item) → what its last claim changed in the code (`counterpoint diff`), or None."""


def _read_nothing(_tool: str, _name: str, _text: str) -> Sequence[ForeignWork]:
    raise Unavailable("nothing can be imported on this board")


def _confirm_nothing(_confirmation: Confirmation) -> Core:
    raise Unavailable("nothing can be signed on this board")


class SigningKey(Protocol):
    """A key that a passphrase unlocks for one signature."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    def sign(self, message: bytes, ask: Callable[[str], str]) -> str:
        """Return the signature of a message; Forbidden for a passphrase that is wrong."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What a caller can use of the machine beside the ledger.

    sources: what can be imported, name → words. read_import: (name, name of the file, text) → the work in it; MalformedDocument.
    find_key: returns the key under a passphrase that signs here. confirm: returns the core for the act that was signed.
    """

    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    read_import: Callable[[str, str, str], Sequence[ForeignWork]] = _read_nothing
    find_key: Callable[[Core], SigningKey | None] = lambda _core: None
    confirm: Callable[[Confirmation], Core] = _confirm_nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sits there. open_core: returns the core as that caller may use it now; Forbidden once a credential has ended.

    tend: has signed what was written; called after an act.
    """

    open_core: Callable[[], Core]
    read_changes: ReadChanges
    tend: Callable[[], None] = lambda: None
    services: Services = field(default_factory=Services)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """One browser of one caller. digest: of its cookie. form_token: what its forms carry. ends: when, in seconds of the clock."""

    caller: Caller
    digest: str
    form_token: str
    ends: float


@dataclass(slots=True, kw_only=True)
class Sittings:
    """All codes and sittings of a server."""

    seconds: Callable[[], float] = time.monotonic
    _codes: OrderedDict[str, tuple[Caller, float]] = field(
        init=False, default_factory=OrderedDict[str, tuple[Caller, float]]
    )
    _sittings: OrderedDict[str, Sitting] = field(
        init=False, default_factory=OrderedDict[str, Sitting]
    )
    _wrong: dict[str, int] = field(init=False, default_factory=dict[str, int])
    _guard: threading.Lock = field(init=False, default_factory=threading.Lock)

    def mint(self, caller: Caller) -> str:
        """Return a code that opens one sitting of a caller."""
        code = token_urlsafe(_SECRET_BYTES)
        with self._guard:
            self._codes[_digest(code)] = caller, self.seconds() + CODE_SECONDS
            while len(self._codes) > MAX_CODES:
                self._codes.popitem(last=False)
        return code

    def redeem(self, code: str) -> tuple[str, Sitting] | None:
        """Return the cookie of the sitting that a code opens, and the sitting; None for one that opens none."""
        with self._guard:
            # Taken away before anything else is asked: of two that bring it only one comes in.
            caller, ends = self._codes.pop(_digest(code), (None, 0.0))
            if caller is None or self.seconds() >= ends:
                return None
            cookie = token_urlsafe(_SECRET_BYTES)
            sitting = Sitting(
                caller=caller,
                digest=_digest(cookie),
                form_token=hmac.new(cookie.encode(), _FORM, sha256).hexdigest(),
                ends=self.seconds() + SITTING_SECONDS,
            )
            self._sittings[sitting.digest] = sitting
            while len(self._sittings) > MAX_SITTINGS:
                self._sittings.popitem(last=False)
        return cookie, sitting

    def find(self, cookie: str) -> Sitting | None:
        """Return the sitting of a cookie; None for one that is over, or never was."""
        with self._guard:
            sitting = self._sittings.get(_digest(cookie))
            if sitting is not None and self.seconds() >= sitting.ends:
                del self._sittings[sitting.digest]
                return None
            return sitting

    def open_core(self, sitting: Sitting) -> Core:
        """Return the core of whoever sits there; Forbidden, which ends the sitting, once a credential has ended."""
        with self._guard:
            is_open = sitting.digest in self._sittings and self.seconds() < sitting.ends
        if not is_open:
            raise Forbidden("this sitting is over", hint="Type `counterpoint board` again.")
        try:
            return sitting.caller.open_core()
        except Forbidden:
            self.end(sitting)
            raise

    def count_wrong(self, sitting: Sitting) -> None:
        """Count an act whose passphrase was refused, and end the sitting after too many."""
        with self._guard:
            self._wrong[sitting.digest] = self._wrong.get(sitting.digest, 0) + 1
            if self._wrong[sitting.digest] >= MAX_WRONG:
                del self._wrong[sitting.digest]
                self._sittings.pop(sitting.digest, None)

    def end(self, sitting: Sitting) -> None:
        """End a sitting."""
        with self._guard:
            self._sittings.pop(sitting.digest, None)


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
