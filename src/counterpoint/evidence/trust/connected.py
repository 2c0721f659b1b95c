"""Which agents are connected to a ledger, before they have written anything in it.

Rule 1: whoever runs this program with the word `mcp` serves the agent that started it: a relay passes on what that
says, and a server of one alone answers it. Who only has these words among its own, as a program has that starts others, does not. It is there before it answers anything, so that what an agent starts after its
handshake finds it, whether or not a server has heard of it. Options of the program itself may stand before that word: none
of them takes a value. Rule 2: which ledger it is for say its words, its variables
and its folder, as for itself. Of a process of the same account that hides them it may be this one. Rule 3: an agent that is connected
to another ledger is one here too, for whatever it has started. Whom it may have left counts there alone: else an agent of any
project would take every terminal after it for its own. Rule 4: that of another account
is not looked at: it reaches the ledger of this one through a server, which knows it. Rule 5: the server tells of those whose relay has
ended, and of those that are not to be seen from here. Where there is no /proc, as on macOS, it is the only one that does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import dropwhile
from pathlib import Path
from typing import Any, Final, cast

from counterpoint.core.model.identity import COVERED, Connection
from counterpoint.core.rules.identity import agent_behind, candidates, unseen_caller
from counterpoint.evidence import procfs
from counterpoint.evidence.processes import peer, variables_of
from counterpoint.evidence.trust.servers import is_program, named_ledgers, words_of
from counterpoint.kernel.client_session import find_credential
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.places import find_database
from counterpoint.settings import is_address, masked

_SERVES: Final = "mcp"
_INSTEAD: Final = ("-c", "-")
_WITH_VALUE: Final = ("-X", "-W")
_VARIABLE: Final = b"COUNTERPOINT_DB="


def connected_agents(database: Path, location: str, now: Timestamp) -> list[Connection]:
    """List the agents that are connected to a ledger, or were to its server as long as that is there; Unavailable.

    With them come those above this process that are connected to any other ledger.
    location: where the ledger is, as it is shown: the path of the database, or an address.
    """
    from counterpoint.protocol.rendezvous import find_rendezvous

    answer = find_rendezvous(database).ask("agents") or {}
    listed = cast("list[dict[str, Any]]", answer.get("agents", []))
    agents = [Connection(**fields) for fields in listed]
    try:
        relays = [*_relays()]
    except procfs.Covered:
        # Any of them may be hidden, and so be above this process or have left it.
        return [*agents, unseen_caller(COVERED, project="", now=now)]
    if not relays:
        # Who started this process decides only which of them count.
        return agents
    above, pids_at_ledger = candidates(peer(os.getpid())), {*_of(relays, partial(_is_at, location))}
    for pid in _of(relays, _is_any):
        agent = agent_behind(peer(pid), now)
        if agent is not None and (pid in pids_at_ledger or agent.id in above):
            agents.append(agent)
    return agents


def agents_above(now: Timestamp) -> Iterator[Connection]:
    """Return the agents above this process that are connected to any ledger without a credential. Nothing where something is covered."""
    above = candidates(peer(os.getpid()))
    with suppress(procfs.Covered):
        for pid in _of(_relays(), _is_any):
            agent = agent_behind(peer(pid), now) if pid != os.getpid() else None
            if agent is not None and agent.id in above and not find_credential(variables_of(pid)):
                yield agent


def _is_any(_folder: str, _ledger: str) -> bool:
    return True


def _is_at(location: str, folder: str, ledger: str) -> bool:
    """Return whether what a process in a folder calls a ledger is the one at a place. ledger: empty without a name."""
    if is_address(location) or is_address(ledger):
        return is_address(ledger) and masked(ledger) == location
    ledger_path = str(Path(folder) / Path(ledger).expanduser()) if ledger else ""
    return find_database(folder, ledger_path) == location


def serving(is_of: Callable[[str, str], bool]) -> Iterator[int]:
    """Return the numbers of the processes that serve agents of a ledger.

    is_of: answers whether a folder, and a ledger as it was named there or nothing, are of that ledger.
    """
    return _of(_relays(), is_of)


def _relays() -> Iterator[tuple[int, list[str]]]:
    """Return the processes that serve agents of any ledger, and what this program was given there as words."""
    if sys.platform == "darwin":
        return
    # A pattern would be compiled for this one look.
    for pid in (int(name) for name in procfs.list_names() if name.isdecimal()):
        after = [*dropwhile(_is_option, _get_program_words(words_of(pid)))]
        if after[:1] == [_SERVES]:
            yield pid, after


def _of(
    relays: Iterable[tuple[int, list[str]]], is_of: Callable[[str, str], bool]
) -> Iterator[int]:
    return (pid for pid, after in relays if _is_of(pid, after, is_of))


def _get_program_words(words: list[str]) -> list[str]:
    """Return what this program was given as words, where it is what a process runs; else nothing."""
    remaining = words
    while remaining and not is_program(remaining[0]):
        # The interpreter, and its options; those that are run in place of a program end it.
        if remaining is not words and not remaining[0].startswith("-"):
            return []
        if remaining[0] in _INSTEAD:
            return []
        remaining = remaining[2:] if remaining[0] in _WITH_VALUE else remaining[1:]
    return remaining[1:]


def _is_option(word: str) -> bool:
    return word.startswith("-")


def _is_of(pid: int, after: list[str], is_of: Callable[[str, str], bool]) -> bool:
    try:
        if procfs.read_owner(str(pid)) != os.getuid():
            return False
        folder = procfs.read_link(f"{pid}/cwd")
        variables = procfs.read(f"{pid}/environ").split(b"\0")
        set_to = [variable for variable in variables if variable.startswith(_VARIABLE)]
        ledgers = [os.fsdecode(entry.removeprefix(_VARIABLE)) for entry in set_to]
        # The last word counts, and before any variable.
        return is_of(folder, ["", *ledgers, *named_ledgers(after)][-1])
    except PermissionError:
        return True
    except OSError:
        # It has ended meanwhile, or its folder has gone.
        return False
