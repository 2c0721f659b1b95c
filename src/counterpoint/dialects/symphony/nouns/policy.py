"""What a project asks of work: gates, thresholds, phases, words to its agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PHASES: tuple[str, ...] = ("research", "architecture", "grooming", "ready")
"""The phases an issue goes through if the project does not say."""
INSTRUCTIONS_LIMIT = 20_000
GATES_LIMIT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCommand:
    """A command that is run on every change; a required one must pass."""

    command: str
    label: str
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a project asks of work.

    thresholds: names and values as the rules of risk know them; the others keep their defaults.
    instructions: role → what it is told beside its own instructions.
    """

    gates: tuple[GateCommand, ...] = ()
    sensitive_paths: tuple[str, ...] = ()
    thresholds: Mapping[str, int] = field(default_factory=dict[str, int])
    instructions: Mapping[str, str] = field(default_factory=dict[str, str])
    phases: tuple[str, ...] = PHASES


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEdit:
    """What is to be different; None leaves a part as it is. instructions: only the roles named."""

    gates: tuple[GateCommand, ...] | None = None
    sensitive_paths: tuple[str, ...] | None = None
    thresholds: Mapping[str, int] | None = None
    instructions: Mapping[str, str] = field(default_factory=dict[str, str])
    phases: tuple[str, ...] | None = None
