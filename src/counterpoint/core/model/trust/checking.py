"""What a project's configuration says of the commands that checks run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

CONFIGURATION: Final = "counterpoint.toml"
"""The file of a project that says it, in the project's own folder."""
Sandboxing = Literal["auto", "require", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checking:
    """How commands are run, and which.

    sandbox: `auto`: as far as the system lets it; `require`: or not at all; `off`. network: whether commands reach it.
    commands: those that may be run, each a list of words; a last `*` stands for any after it. free: whether any other may.
    mirrors: whether work is kept as files of the tree too; None: where their folder is there.
    """

    sandbox: Sandboxing = "auto"
    network: bool = True
    commands: tuple[tuple[str, ...], ...] = ()
    free: bool = False
    mirrors: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """Commands that would not be run now. why: what is wrong with the configuration itself; empty if they only are not listed."""

    commands: tuple[tuple[str, ...], ...] = ()
    why: str = ""
