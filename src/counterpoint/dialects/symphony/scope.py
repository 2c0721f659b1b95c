"""Which tools each type of agent may call, and how a scope file narrows them.

What a session may call is decided by, in this order: (1) its scope file, as `kernel/tool_scopes.py` says,
(2) its agent type, (3) with neither, nothing: all tools are open. A refused file opens no tool: the
server does not start. `configure_project` is of no type: it is for a person's own client.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final, Literal, cast, get_args

from counterpoint.dialects.scoping import read_tools
from counterpoint.kernel.errors import InvalidInput

AgentType = Literal["worker", "researcher", "judge", "scanner", "architect", "planner", "intake"]
AGENT_TYPES: Final[tuple[AgentType, ...]] = get_args(AgentType)
CONFIGURE: Final = "configure_project"
"""Open only to a connection without agent type and scope file."""
_LETTERS: Final[dict[str, AgentType]] = dict(zip("WRJSAPI", AGENT_TYPES, strict=True))

_MATRIX: Final = """
get_issue            W R J - A P -
get_issue_status     W R J - A P -
update_issue_status  W - J - - P -
add_finding          W R J S A P I
add_learning         W R J S A P -
add_comment          W R J - A P -
create_issue         W - - S A - I
create_subtask       W - - - - P -
list_issues          W R - S A P I
search_learnings     W R J S A P -
create_pr            W - - - - - -
approve_pr           - - J - - - -
reject_pr            - - J - - - -
configure_project    - - - - - - -
complete_phase       W R - - A P -
approve_phase        - - J - - - -
reject_phase         - - J - - - -
record_coverage      - - - S - - -
move_issue           - - - - - P -
verify_workspace     W R - - A P -
record_test_health   W - - - - - -
search_knowledge     W R J S A P I
vault_retrieve       W R J S A P I
vault_update         W R - - - - -
vault_delete         W - - - - - -
query_run_events     - R J - A - -
update_memory        W R J S A P I
"""

CRITICAL: Final[dict[AgentType, tuple[str, ...]]] = {
    "worker": ("get_issue", "complete_phase"),
    "researcher": ("get_issue", "complete_phase"),
    "judge": ("get_issue", "approve_pr", "reject_pr", "approve_phase", "reject_phase"),
    "scanner": ("create_issue", "record_coverage"),
    "architect": ("get_issue", "complete_phase"),
    "planner": ("get_issue", "complete_phase"),
    "intake": ("create_issue",),
}
"""Without these an agent of the type cannot do what it is for."""

_ROWS: Final = {row.split()[0]: frozenset(row.split()[1:]) for row in _MATRIX.strip().splitlines()}
TOOLS: Final[tuple[str, ...]] = tuple(_ROWS)
"""Every tool of the dialect, in the order of the list."""
TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "": TOOLS,
    **{
        type_: tuple(name for name in TOOLS if letter in _ROWS[name])
        for letter, type_ in _LETTERS.items()
    },
}
"""The tools of each agent type, and all of them under an empty one."""


def tools_of(agent_type: str) -> tuple[str, ...]:
    """Return the tools of an agent type, all of them for an empty one; InvalidInput if unknown."""
    if agent_type not in TYPES:
        raise InvalidInput(
            f"there is no agent type {agent_type!r}", hint=f"Give one of {', '.join(AGENT_TYPES)}."
        )
    return TYPES[agent_type]


def effective_tools(
    agent_type: str, allowed: Collection[str] | None, disallowed: Collection[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tools that a profile opens to an agent type, and what is odd about it in words.

    allowed: only these of the type's own, None for all. disallowed: none of these.
    """
    own_tools = tools_of(agent_type)
    effective = (
        own_tools if allowed is None else tuple(name for name in own_tools if name in allowed)
    )
    effective = tuple(name for name in effective if name not in (disallowed or ()))
    return effective, (
        *_unknown("allowed_tools", allowed or ()),
        *_unknown("disallowed_tools", disallowed or ()),
        *(
            f"allowed_tools: {name} is not a tool of the type {agent_type} and stays closed"
            for name in sorted(set(allowed or ()) & set(TOOLS) - set(own_tools))
        ),
        *(
            f"{name} is missing, which every {agent_type} needs"
            for name in _critical(agent_type)
            if name not in effective
        ),
    )


def read_scope(path: Path, agent_type: str = "") -> tuple[str, ...]:
    """Return the tools that a scope file opens, in the order of the list; InvalidInput if refused."""
    tools_of(agent_type)  # an unknown type is refused for what it is, whatever the file says
    return read_tools(path, TYPES, agent_type)


def _unknown(where: str, names: Iterable[str]) -> list[str]:
    return [f"{where}: there is no tool {name!r}" for name in sorted(set(names) - set(TOOLS))]


def _critical(agent_type: str) -> tuple[str, ...]:
    return CRITICAL[cast("AgentType", agent_type)] if agent_type else ()
