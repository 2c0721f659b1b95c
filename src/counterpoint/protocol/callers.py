"""Who sends a request, as far as the protocol knows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What a tool's call is made for.

    guarded: whether the surface that is called is refused at once while the store fails.
    """

    guarded: bool = False
    client: str = ""
    client_version: str = ""
    protocol: str = ""
    request: object = None
    """The HTTP request that carried the message; None on a pipe."""
