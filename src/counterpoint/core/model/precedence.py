"""What has to come before a call of a tool, as a team has written it down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

RequirementKind = Literal["tool_called", "session_state", "context_exists", "entity_exists"]

REQUIREMENT_KINDS: Final[tuple[RequirementKind, ...]] = get_args(RequirementKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One thing that has to be so before a tool is called.

    names: of these one is enough. For `tool_called` the tools, one of which this session has called;
    for `session_state` the states; for `context_exists` the keys that the session's details or the
    call's arguments have; for `entity_exists` the kind of thing.
    argument: which argument of the call has the thing's id. made_by: the tool that brings it
    about; empty if none is known. optional: is told to nobody and stops nothing.
    """

    kind: RequirementKind
    names: tuple[str, ...]
    argument: str = ""
    made_by: str = ""
    optional: bool = False


Table = Mapping[str, tuple[Requirement, ...]]
"""What each tool requires; a tool that is not in it requires nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is so when a tool is called.

    called: the tools that the session has called. state: how the session stands; empty if there is
    none. context: the keys that it or the call has. exists: whether there is a thing of a kind
    under the id that an argument gives.
    """

    called: frozenset[str]
    state: str
    context: frozenset[str]
    exists: Callable[[str, str], bool]
