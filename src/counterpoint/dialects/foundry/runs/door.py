"""Who may call what over a connection, how much was called, and who was refused too often."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final

from counterpoint.dialects.foundry.environment.operations import ConfigFile
from counterpoint.dialects.foundry.models.runs import Role
from counterpoint.dialects.foundry.runs.rules.limits import (
    UNKNOWN,
    WIDENING,
    Configured,
    Denials,
    configured,
    may_call,
    refuse_call,
)
from counterpoint.kernel.errors import Forbidden, MalformedDocument

_CALLERS: Final = 1_000
"""Callers whose calls and refusals are counted; those who called, or were refused, longest ago are forgotten."""

_LOOK: Final = "task session-config"


@dataclass(slots=True)
class CallCount:
    """How many calls a connection made since this process knows it, and how many of them were refused."""

    calls: int = 0
    refusals: int = 0


@dataclass(kw_only=True)
class Door:
    """What lets calls through. file: where the project says how it works, read once for each pair of role and posture.

    tick: a clock in seconds that only rises.
    """

    file: ConfigFile
    environ: Mapping[str, str] = field(repr=False)
    tick: Callable[[], float] = time.monotonic
    _known: dict[tuple[str, str], Configured] = field(
        init=False, repr=False, default_factory=dict[tuple[str, str], Configured]
    )
    _counts: OrderedDict[str, CallCount] = field(
        init=False, repr=False, default_factory=OrderedDict[str, CallCount]
    )
    _denials: OrderedDict[str, Denials] = field(
        init=False, repr=False, default_factory=OrderedDict[str, Denials]
    )
    _connections: OrderedDict[str, tuple[str, str]] = field(
        init=False, repr=False, default_factory=OrderedDict[str, tuple[str, str]]
    )
    _lock: Lock = field(init=False, repr=False, default_factory=Lock)

    def configured(self, role: str, posture: str) -> Configured:
        """Return what is configured for a connection that was started with a role and a posture; MalformedDocument."""
        policy = self._known.get((role, posture))
        if policy is None:
            policy = configured(self.file.said()[0], self.environ, role, posture)
            self._known[role, posture] = policy
        return policy

    def admit(self, caller: str, call: str, role: str, posture: str) -> None:
        """Let a call through; RateLimited, Forbidden if its role may not make it, MalformedDocument.

        caller: by whom calls and refusals are counted. call: its tool, action and command.
        """
        with self._lock:
            count = self._counts.get(caller)
            if count is None:
                count = self._counts[caller] = CallCount()
                while len(self._counts) > _CALLERS:
                    self._counts.popitem(last=False)
            self._connections[caller] = role, posture
            if len(self._connections) > _CALLERS:
                self._connections.popitem(last=False)
            # To look at the count does not change it.
            count.calls += call != _LOOK
            self._denials.get(caller, Denials()).refuse(self.tick())
        try:
            default_role = self.configured(role, posture).role
        except MalformedDocument:
            # Nobody is given more for a file that says nothing.
            if may_call(UNKNOWN, call):
                return
            raise
        try:
            refuse_call(default_role, call)
        except Forbidden:
            self._count(caller)
            raise

    def least_role(self, is_connected: Callable[[str], bool]) -> Role:
        """Return the role that lets least of those that open connections were started with; the widest where none was.

        is_connected: of the caller of a connection.
        """
        with self._lock:
            connections = list(self._connections.items())
        pairs = {pair for caller, pair in connections if is_connected(caller)}
        roles = {self.role_of(*pair) for pair in pairs - {("", "")}}
        for role in WIDENING:
            if role in roles:
                return role
        return "maintainer"

    def role_of(self, role: str, posture: str) -> Role:
        """Return the role that a connection has which was started so; by two empty words that of the project."""
        try:
            return self.configured(role, posture).role
        except MalformedDocument:
            return UNKNOWN

    def count_refusal(self, caller: str) -> None:
        """Count that a call was refused, for whatever reason."""
        with self._lock:
            if caller in self._counts:
                self._counts[caller].refusals += 1

    def count(self, caller: str) -> CallCount:
        """Return how many calls a caller made, and how many were refused."""
        with self._lock:
            return replace(self._counts.get(caller, CallCount()))

    def _count(self, caller: str) -> None:
        with self._lock:
            denials = self._denials.pop(caller, Denials())
            self._denials[caller] = denials.denied(self.tick())
            while len(self._denials) > _CALLERS:
                self._denials.popitem(last=False)
