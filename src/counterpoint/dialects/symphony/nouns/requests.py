"""Branches that are handed in: what is asked for, and what is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from counterpoint.core.model.journal import Changeset, Submission, Verdict

DIFF_LIMIT = 5_000_000
"""Bytes that the text of a difference may have."""
GATE_OUTPUT = 4_000
"""Characters of the output of a gate that was run here which are kept with a request; its receipt has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRequest:
    """A branch that was handed in, what it changes, and the verdict that counts, if there is one."""

    submission: Submission
    changes: Changeset
    verdict: Verdict | None = None

    @property
    def status(self) -> str:
        """What became of it, in the words of the tools."""
        status = self.submission.status
        return "approved" if status == "accepted" else status


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedGate:
    """How a command ended, as an agent says."""

    command: str
    label: str
    exit_code: int
    output: str
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change as somebody hands it in; without a diff the server's own must do."""

    item: str
    branch: str = ""
    base: str = ""
    diff: str = ""
    gates: Sequence[ClaimedGate] = ()
    summary: str = ""
    run: str = ""
    tree: str = ""
