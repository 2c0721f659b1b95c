"""Admission: a token becomes a grant, and a grant allows certain calls.

A caller without a token enters where none is needed. Every other caller shows one, in the header
`Authorization`, or, for a WebSocket, which a browser opens without headers of its own, as a word
`bearer.<token>` among the names of its sub-protocols. One place or the other, and once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Scope

from counterpoint.protocol.http import guards
from counterpoint.protocol.http.grants import READ, Grant, Limits, needs
from counterpoint.protocol.http.guards import GRANT, Refused, refuse
from counterpoint.protocol.http.oauth import Issuer
from counterpoint.protocol.surface import Surface
from counterpoint.protocol.workers import Workers


class Admission:
    """The checks of a caller, in the order in which they are made."""

    def __init__(
        self,
        find: Callable[[str, str], Grant | None],
        anyone: Callable[[], Grant | None],
        *,
        issuer: Issuer | None,
        workers: Workers,
        seconds: Callable[[], float],
    ) -> None:
        """Begin with full buckets; `find` and `anyone` are called in workers."""
        self._find = find
        self._anyone = anyone
        self._issuer = issuer
        self._workers = workers
        self._limits = Limits(seconds)

    async def enter(self, scope: Scope, headers: Headers) -> Grant:
        """Return the grant of a request and keep it there; refused with a challenge if none."""
        guards.check_once(headers)
        find = self.finder(scope, headers)
        grant = await self._workers.run(find)
        if grant is None:
            raise self._challenge("invalid_token" if guards.shows_token(scope, headers) else "")
        scope[GRANT] = grant
        return grant

    def finder(self, scope: Scope, headers: Headers) -> Callable[[], Grant | None]:
        """Return what finds the grant of a request, now and later; to be called in a worker."""
        if not guards.shows_token(scope, headers):
            return self._anyone
        token = guards.token_of(scope, headers)
        # The peer of the connection: a header that any caller can write says nothing of where it
        # is.
        address = (scope.get("client") or ("", 0))[0]
        return lambda: self._find(token, address)

    async def reader(self, scope: Scope, headers: Headers, surface: str = "") -> Grant:
        """Return the grant of someone who may look at a page; surface: the dialect it is about, else it is about all."""
        grant = await self.enter(scope, headers)
        if surface:
            self.check_surface(grant, surface)
        if not may_look(grant, surface):
            raise refuse(
                403,
                "insufficient_scope",
                f"this page needs a token with the scope read, for all tools{'' if surface else ' and dialects'}",
                www_authenticate=self._bearer("insufficient_scope", (READ,)),
            )
        self.take(grant)
        return grant

    def check_surface(self, grant: Grant, surface: str) -> None:
        """Refuse a token that is not good for a surface."""
        if not grant.opens(surface):
            raise refuse(
                403,
                "insufficient_scope",
                "the token is not good for this dialect",
                f"It is good for: {', '.join(grant.surfaces)}.",
                www_authenticate=self._bearer("insufficient_scope"),
            )

    def wait(self, grant: Grant) -> int:
        """Take one call; answer 0, or in how many seconds there is one again."""
        return self._limits.take(grant)

    def take(self, grant: Grant) -> None:
        """Take one call; refused if there is none left."""
        wait = self.wait(grant)
        if wait:
            raise refuse(
                429,
                "too_many_calls",
                f"this token may call {grant.calls_a_minute} times a minute",
                f"Wait {wait} s, then repeat the call; nothing was done.",
                retry_after=str(wait),
            )

    def check_scopes(self, grant: Grant, surface: Surface[Any], message: Mapping[str, Any]) -> None:
        """Refuse a message that needs a scope which the token has not."""
        required = needs(surface, message)
        absent = [scope for scope in required if scope not in grant.scopes]
        if absent:
            raise refuse(
                403,
                "insufficient_scope",
                f"this call needs a token with the scopes {' and '.join(required)}",
                "Ask for a token that may do this; reading tools stay open to yours."
                if grant.scopes
                else "Ask the issuer for a token with these scopes.",
                www_authenticate=self._bearer("insufficient_scope", required),
            )

    def _challenge(self, error: str) -> Refused:
        """Refuse a caller who is not known (RFC 6750, section 3; RFC 9728, section 5.1)."""
        message = "the token is not valid here" if error else "a token is needed here"
        return refuse(
            401,
            error or "unauthorized",
            message,
            "Send `Authorization: Bearer …` with a token from `counterpoint token create`, or, on the machine"
            " and under the account of the server, with that of `counterpoint token local`.",
            www_authenticate=self._bearer(error, scopes=() if error else ("read", "write")),
        )

    def _bearer(self, error: str, scopes: tuple[str, ...] = ()) -> str:
        issuer = self._issuer
        parts = ['realm="counterpoint"']
        if error:
            parts.append(f'error="{error}"')
        if scopes:
            scope_text = " ".join(f"counterpoint:{scope}" if issuer else scope for scope in scopes)
            parts.append(f'scope="{scope_text}"')
        if issuer is not None:
            parts.append(f'resource_metadata="{issuer.metadata_url}"')
        return f"Bearer {', '.join(parts)}"


def may_look(grant: Grant, surface: str = "") -> bool:
    """Whether a grant shows all there is to read of a dialect, or of the whole ledger where none is named."""
    is_whole = grant.opens(surface) if surface else not grant.surfaces
    return READ in grant.scopes and not grant.tools and is_whole
