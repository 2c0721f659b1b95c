"""Actions: the calls of tools, two rows for each, and how the whole is.

A call has one row when it begins and one when it ends, under one number: numbers rise by one, without
gaps. A row is never changed. A call without its second row still runs, or whoever ran it is gone.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from counterpoint.core.model.answers import ItemView, Readiness
from counterpoint.core.model.lifecycles import Lifecycle
from counterpoint.core.model.rows import (
    Agent,
    Digest,
    Id,
    InSession,
    Name,
    Noun,
    Word,
)
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

Step = Literal["enter", "exit"]
Ending = Literal["running", "ok", "invalid", "domain_error", "error", "denied", "crashed"]


@frozen
class Action(Noun):
    """The begin or the end of one call of a tool.

    call: the same in both rows, and unique: what a log elsewhere can name it by.
    host: the process that ran it. agent, client, session: who called.
    outcome: `running` in the first row. code: of the refusal; in the row of a crash who found it.
    arguments, answer: SHA-256 of canonical JSON with a salt that the process forgets, in hex; empty where
        there was none.
    duration: milliseconds between both rows.
    """

    table: ClassVar[str] = "actions"
    key: ClassVar[tuple[str, ...]] = ("project", "number", "step")
    indexes: ClassVar[tuple[str, ...]] = ("host,step,number", "outcome,number")

    number: int
    step: Step
    tool: Name
    call: Id
    host: Id
    agent: Agent
    client: Name
    session: InSession
    outcome: Ending
    code: Word
    arguments: Digest
    answer: Digest
    duration: int
    at: Timestamp


@frozen
class Asked:
    """A call of a tool as it comes in: its name, and the digest of its arguments."""

    tool: str
    arguments: str


@frozen
class Ended:
    """How a call ended: the outcome, the code of a refusal, and the digest of the answer."""

    outcome: Ending
    answer: str = ""
    code: str = ""


@frozen
class Condition:
    """How a project stands.

    tables: how many the store has for a project. running: calls without an end. crashed: calls whose
    end this process had to write. unsealed: audit sessions that are open. skipped: skills that
    could not be read. free_bytes: room on the disk of the ledger; -1 if nobody knows.
    faults: what the store finds wrong with itself.
    """

    entries: int
    tables: int
    running: int
    crashed: int
    unsealed: int
    skipped: tuple[str, ...]
    free_bytes: int
    faults: tuple[str, ...]


STAGED = Lifecycle(
    name="staged",
    first="init",
    categories={
        "init": "open",
        "gather": "active",
        "analyze": "active",
        "plan": "active",
        "apply": "active",
        "verify": "active",
        "done": "done",
        "cancelled": "dropped",
    },
    moves={
        "init": ("gather", "cancelled"),
        "gather": ("analyze", "cancelled"),
        "analyze": ("plan", "cancelled"),
        "plan": ("apply", "cancelled"),
        "apply": ("verify", "cancelled"),
        "verify": ("done", "gather", "cancelled"),
        "done": (),
        "cancelled": (),
    },
    goals={"active": "gather", "failed": "cancelled"},
    guards={"done": "reflection", "cancelled": "reason"},
    since="apply",
    traced=True,
    retries=frozenset({("verify", "gather")}),
)
"""A task of the colibri dialect: it goes through fixed stages, and a failed check sends it back to GATHER."""


@frozen
class NextMove:
    """What can be done about a strict task: the states it may go to, and what is in the way."""

    task: ItemView
    moves: tuple[str, ...]
    readiness: Readiness
