"""Bearers of an OAuth 2.1 authorization server: signed tokens and its keys.

A JSON Web Token is accepted if and only if (1) its algorithm is RS256, ES256 or EdDSA and fits the
key, (2) its `typ`, if there is one, is that of an access token or `JWT` (RFC 9068, section 4), (3) the issuer's key set has its `kid` (or, without one, has one key only), (4) the signature
holds, (5) `iss` is the issuer, (6) `aud` holds our audience, so that a token for another resource is
none here (RFC 8707), (7) now lies between `nbf` and `exp`, give or take ten seconds, (8) it names a
`sub`. A key set is read again when an unknown `kid` comes, but not twice within ten seconds.
"""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import jwt
import orjson

from counterpoint.kernel.errors import InvalidInput, Unavailable
from counterpoint.protocol.http.grants import MAINTAIN, READ, RUN, WRITE, Grant

ALGORITHMS: Final = ("RS256", "ES256", "EdDSA")
_TYPES: Final = frozenset({"at+jwt", "application/at+jwt", "jwt"})
"""In lower case, as names of media types have none; an identity or logout token says another."""
LEEWAY: Final = 10
REST: Final = 10.0
"""Seconds between two readings of a key set that strange `kid`s can cause."""
LASTS: Final = 600.0
"""Seconds after which a key set is read again in any case, so that a withdrawn key ends."""

PREFIX: Final = "counterpoint:"
_ORDER: Final = (READ, WRITE, RUN, MAINTAIN)
LARGEST_KEYS: Final = 1_000_000
_TIMEOUT: Final = 5.0
_KIND: Final = "oauth"
_MARK: Final = 32
"""Digits that tell a subject of an issuer from all others."""
# Decoding and checking cost time that a caller without a token could ask for.
_MOST_TOKEN: Final = 16_384


class KeySet:
    """The public keys of an issuer, from a file or an address."""

    def __init__(self, source: str, seconds: Callable[[], float] = time.monotonic) -> None:
        """Remember where they are; InvalidInput unless it is a file or a safe address."""
        self._source = source
        self._seconds = seconds
        self._lock = threading.Lock()
        self._keys: dict[str, jwt.PyJWK] = {}
        """Replaced as a whole, never changed: readers take no lock."""
        self._read_at = float("-inf")
        self._was_read = False
        if "://" in source and not _is_safe(source):
            raise InvalidInput(
                "the key set is neither a file nor an https address",
                hint="Plain http is taken on this machine only.",
            )

    def find(self, kid: str) -> jwt.PyJWK | None:
        """Return the key of a name, or None; an empty name stands for the only key."""
        if self._is_due(kid):
            self.load()
        keys = self._keys
        if not kid and len(keys) == 1:
            return next(iter(keys.values()))
        return keys.get(kid)

    def load(self) -> None:
        """Read the set; one that cannot be read leaves what was known. Unavailable if nothing was."""
        try:
            listed = orjson.loads(self._text())["keys"]
            self._keys = {key.key_id or "": key for key in map(_key, listed) if key is not None}
        except (OSError, ValueError, KeyError, TypeError) as fault:
            cause = type(fault).__name__
        else:
            cause = "" if self._keys or self._was_read else "there is no key in it"
            self._was_read = self._was_read or not cause
        if cause and not self._was_read:
            raise Unavailable(
                "the keys of the issuer cannot be read",
                hint="Check the file or the address given with `--jwks`.",
                cause=cause,
            )

    def _is_due(self, kid: str) -> bool:
        """Whether this caller shall read the set; the others go on with what is known."""
        with self._lock:
            age = self._seconds() - self._read_at
            # Not at every strange name: whoever makes tokens up could have the issuer asked without
            # end.
            due = age >= LASTS or (kid not in self._keys and age >= REST)
            if due:
                # Before it is read: the others must not come and read it too.
                self._read_at = self._seconds()
            return due

    def _text(self) -> bytes:
        if "://" not in self._source:
            return Path(self._source).read_bytes()
        opener = urllib.request.build_opener(_Straight)
        with opener.open(self._source, timeout=_TIMEOUT) as answer:
            return cast("bytes", answer.read(LARGEST_KEYS))


def _key(listed: Any) -> jwt.PyJWK | None:
    """Return a key of a set, or None for one of a sort that is not spoken here."""
    try:
        return jwt.PyJWK(listed)
    except (jwt.PyJWTError, AttributeError, TypeError, ValueError):
        return None


class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: keys come from where they were said to be."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        del fp, newurl
        raise urllib.error.HTTPError(req.full_url, code, msg, headers, None)


def _is_safe(address: str) -> bool:
    parts = urlsplit(address)
    near = parts.hostname in {"127.0.0.1", "localhost", "::1"}
    return parts.scheme == "https" or (parts.scheme == "http" and near)


@dataclass(frozen=True, kw_only=True)
class Issuer:
    """One authorization server whose tokens are taken, and for what."""

    name: str
    audience: str
    keys: KeySet

    def __post_init__(self) -> None:
        """InvalidInput unless issuer and audience are addresses (RFC 8414, RFC 9728)."""
        for what, address in (("issuer", self.name), ("audience", self.audience)):
            parts = urlsplit(address)
            if parts.query or parts.fragment or not _is_safe(address):
                raise InvalidInput(
                    f"the {what} is not an https address without query and fragment",
                    hint="Plain http is taken on this machine only.",
                )

    @property
    def metadata_path(self) -> str:
        """Where this server describes itself (RFC 9728, section 3.1)."""
        return f"/.well-known/oauth-protected-resource{urlsplit(self.audience).path.rstrip('/')}"

    @property
    def metadata_url(self) -> str:
        """The same as an address, for the challenge of a 401."""
        parts = urlsplit(self.audience)
        return f"{parts.scheme}://{parts.netloc}{self.metadata_path}"

    def metadata(self) -> dict[str, Any]:
        """Return the description of this server (RFC 9728, section 2)."""
        return {
            "resource": self.audience,
            "authorization_servers": [self.name],
            "scopes_supported": [PREFIX + scope for scope in _ORDER],
            "bearer_methods_supported": ["header"],
            "resource_name": "Counterpoint",
        }

    def find(self, token: str) -> Grant | None:
        """Return what the bearer of a signed token may do; None if it is not accepted. Unavailable."""
        if len(token) > _MOST_TOKEN:
            return None
        try:
            header = jwt.get_unverified_header(token)
            if str(header.get("typ", "JWT")).lower() not in _TYPES:
                return None
            kid = header.get("kid", "")
            key = self.keys.find(kid if isinstance(kid, str) else "")
            if key is None or key.algorithm_name not in ALGORITHMS:
                return None
            claims = jwt.decode(
                token,
                key,
                # The key says which it is, and not the token: else a public key could be used as a
                # shared secret.
                algorithms=[key.algorithm_name],
                audience=self.audience,
                issuer=self.name,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError):
            return None
        return self._granted(claims)

    def _granted(self, claims: Mapping[str, Any]) -> Grant | None:
        subject = claims["sub"]
        if not isinstance(subject, str) or not subject:
            return None
        mark = sha256(f"{self.name}\0{subject}".encode()).hexdigest()[:_MARK]
        return Grant(
            id=f"{_KIND}:{mark}", name=_agent(subject, mark), session="", scopes=_scopes(claims)
        )


def _scopes(claims: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a token allows: `scope` is one text (RFC 9068), some issuers give a list `scp`."""
    raw: object = claims.get("scope", claims.get("scp", ""))
    listed = cast("list[object]", raw) if isinstance(raw, list) else []
    words = raw.split() if isinstance(raw, str) else [str(word) for word in listed]
    scopes = {word.removeprefix(PREFIX) for word in words if word.startswith(PREFIX)}
    # Each includes those before it.
    most = max((_ORDER.index(scope) for scope in _ORDER if scope in scopes), default=-1)
    return _ORDER[: most + 1]


def _agent(subject: str, mark: str) -> str:
    """Return a name for a subject: itself where it can be one, and its mark if it cannot."""
    plain = "".join(letter if letter.isalnum() or letter in "._@-" else "-" for letter in subject)
    if plain == subject and subject.isascii() and len(subject) <= 64 and subject[0].isalnum():  # noqa: PLR2004 -- the length of a name
        return subject
    return _marked_name(mark)


def spare_name(grant: str) -> str:
    """Return what a subject is called where a token has its name, by the id of its grant; empty for a token's."""
    kind, _, mark = grant.partition(":")
    return _marked_name(mark) if kind == _KIND else ""


def _marked_name(mark: str) -> str:
    return f"oauth-{mark[:12]}"
