"""Judgments about tokens: whether one is in force, from where, and how often.

A secret is accepted if and only if (1) it has the shape of a token, (2) a token of this project has
its SHA-256, (3) that token was not revoked, (4) it has not expired, (5) the caller's address lies
in one of its networks, if it names any. A caller who is refused is not told which of these failed.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, cast

from counterpoint.core.model.access import (
    LONGEST_SECONDS,
    RUN,
    SCOPES,
    SECRET_PREFIX,
    Scope,
    Token,
    TokenRequest,
)
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.matching.expressions import expression

MOST_CALLS = 1_000_000
MOST_CALLS_A_MONTH = 1_000_000_000
MOST_AT_ONCE = 64
"""How many calls a process takes ahead at most."""

OF_SUBJECTS: Final = "oauth-"
_SECRET = expression(rf"{SECRET_PREFIX}[0-9a-f]{{64}}")
_NAME = expression(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_LASTING = expression(r"([1-9][0-9]{0,8})([smhdwy])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 366 * 86_400}
_TOOL_LIMIT = expression(r"([A-Za-z0-9_.-]{1,64})=([1-9][0-9]{0,6})")
_DECEMBER = 12


def is_secret(text: str) -> bool:
    """Whether a text has the shape of a token."""
    return _SECRET.fullmatch(text) is not None


def digest_of(secret: str) -> str:
    """Return the SHA-256 under which a token is kept."""
    return sha256(secret.encode()).hexdigest()


def is_in_force(token: Token, now: Timestamp) -> bool:
    """Whether a token is neither revoked nor expired."""
    return not token.revoked_at and (not token.expires_at or now < token.expires_at)


def is_admitted(token: Token, address: str) -> bool:
    """Whether a caller may use the token from an address; one that cannot be read may not."""
    if not token.addresses:
        return True
    try:
        # The zone of a link-local address is a name of this machine's, and no part of a network.
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    # A socket for both families shows callers over IPv4 as `::ffff:192.0.2.7`.
    mapped = getattr(parsed, "ipv4_mapped", None) or parsed
    return any(mapped in ipaddress.ip_network(network) for network in token.addresses)


def tool_limits_of(texts: Iterable[str]) -> dict[str, int]:
    """Return how often in a minute each tool may be called; InvalidInput for a text that is none."""
    limits: dict[str, int] = {}
    faults: list[str] = []
    for text in texts:
        match = _TOOL_LIMIT.fullmatch(text)
        if match is None or int(match[2]) > MOST_CALLS:
            faults.append(f"{text[:50]!r} is no limit of a tool")
        elif limits.setdefault(match[1], int(match[2])) != int(match[2]):
            faults.append(f"{match[1]} has two limits")
    if faults:
        raise InvalidInput(
            f"no token can be made: {'; '.join(faults)}",
            hint=f"Write a tool and its calls a minute, 1 to {MOST_CALLS}, such as `find=30`.",
            faults=faults,
        )
    return limits


def is_agent(name: str) -> bool:
    """Whether a text can be the name of an agent, or of a token."""
    return _NAME.fullmatch(name) is not None


def capability_of(*parts: str) -> str:
    """Return the SHA-256 under which a capability is kept: of its kind, and of what makes it."""
    return sha256("\0".join(("capability", *parts)).encode()).hexdigest()


def seconds_of(text: str) -> int:
    """Return the seconds of a span such as `90s`, `12h`, `30d`, `8w` or `1y`; InvalidInput."""
    match = _LASTING.fullmatch(text.strip())
    seconds = int(match[1]) * _SECONDS[match[2]] if match else 0
    if not 0 < seconds <= LONGEST_SECONDS:
        raise InvalidInput(
            f"{text[:40]!r} is not a span of time",
            hint="Write a number and s, m, h, d, w or y, such as `30d`; ten years is the most.",
        )
    return seconds


def parse_lifetime(text: str) -> int:
    """Return the seconds of a span as `seconds_of` reads it, or 0 for `never`; InvalidInput."""
    return 0 if text.strip() == "never" else seconds_of(text)


def normalize_request(request: TokenRequest) -> TokenRequest:
    """Return what is asked for in its plain form; InvalidInput with every fault at once."""
    faults: list[str] = []
    if not is_agent(request.name):
        faults.append("a name has up to 64 letters, digits, dots, hyphens, underscores and @")
    if request.name.startswith(OF_SUBJECTS):
        faults.append(f"names that begin with {OF_SUBJECTS} are those of OAuth subjects")
    strange = sorted(set(request.scopes) - set(SCOPES))
    if strange or not request.scopes:
        faults.append(f"scopes are {', '.join(SCOPES)}, at least one")
    if not 0 <= request.calls_a_minute <= MOST_CALLS:
        faults.append(f"calls a minute are 1 to {MOST_CALLS}, or 0 for no limit")
    if not 0 <= request.calls_a_month <= MOST_CALLS_A_MONTH:
        faults.append(f"calls a month are 1 to {MOST_CALLS_A_MONTH}, or 0 for no limit")
    if not 0 <= request.lasts_seconds <= LONGEST_SECONDS:
        faults.append("a token lasts ten years at most, or 0 for no end")
    if request.kind == "agent" and (_limits(request) or set(request.scopes) == {"read"}):
        faults.append("limits are for tokens that are brought over HTTP, and not held elsewhere")
    faults += [
        f"{network[:50]!r} is not a network"
        for network in request.addresses
        if not _network(network)
    ]
    if faults:
        raise InvalidInput(
            f"no token can be made: {'; '.join(faults)}",
            hint="A network is written as 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32.",
            faults=faults,
        )
    limits = tool_limits_of(request.tool_limits)
    # Who may write hears answers, and so may read; free commands are for whoever was given them.
    most = max(SCOPES.index(cast("Scope", scope)) for scope in request.scopes)
    below = SCOPES[: most + 1]
    scopes = tuple(scope for scope in below if scope != RUN or RUN in request.scopes)
    return TokenRequest(
        name=request.name,
        surfaces=_once(request.surfaces),
        scopes=scopes,
        tools=_once(request.tools),
        addresses=_once(_network(network) for network in request.addresses),
        calls_a_minute=request.calls_a_minute,
        lasts_seconds=request.lasts_seconds,
        calls_a_month=request.calls_a_month,
        tool_limits=tuple(f"{name}={limit}" for name, limit in sorted(limits.items())),
        kind=request.kind,
    )


def _limits(request: TokenRequest) -> bool:
    """Return whether a token is to be good for some surfaces, tools, networks or numbers of calls alone."""
    has_limits_of_use = (
        request.surfaces or request.tools or request.addresses or request.tool_limits
    )
    return bool(has_limits_of_use or request.calls_a_minute or request.calls_a_month)


def _once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words)))


def _network(text: str) -> str:
    """Return a network in its plain form, host bits cut off; empty if it is none."""
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return ""


def grant_calls(used: int, requested: int, most: int) -> int:
    """Return how many of the wanted calls there are."""
    return max(0, min(requested, most - used))


def calls_ahead(most: int) -> int:
    """Return how many calls of a month to take at once: at most a hundredth of it may be lost."""
    # A process that dies loses what it took ahead, so that must not be much of the month.
    return max(1, min(MOST_AT_ONCE, most // 100))


def month_of(now: Timestamp) -> str:
    """Return the month of a moment, such as `2026-11`."""
    return now[:7]


def next_month(now: Timestamp) -> Timestamp:
    """Return the first moment of the month after."""
    year, month = int(now[:4]), int(now[5:7])
    year, month = (year + 1, 1) if month == _DECEMBER else (year, month + 1)
    return Timestamp(f"{year:04d}-{month:02d}-01T00:00:00.000Z")
