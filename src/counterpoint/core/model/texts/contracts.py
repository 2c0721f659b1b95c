"""The contract of a phase: what is handed over in it, and how that is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Validation = Literal["structural", "judge", "none"]

VALIDATIONS: tuple[Validation, ...] = get_args(Validation)
LEAST_CHARACTERS = 100
MOST_REVISIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a phase asks for.

    version: a hand-over names the version it was made for. profile: the role that does the work.
    artifact: the path of the text to hand over, with `{identifier}` in it; empty: commits are handed
    over. sections: headings of the second level the text must have. validation: `structural` looks at
    the form, `judge` wants a verdict too, `none` neither. judge_labels: an item with one of them
    wants a verdict in any case. next_phase: empty after the last. write_areas: what may be written
    beside the artifact. most_revisions: how many refusals before a person is asked.
    instructions: what the one who does the work is told.
    """

    phase: str
    version: int
    profile: str
    instructions: str
    source: str
    digest: str
    artifact: str = ""
    sections: tuple[str, ...] = ()
    least_characters: int = LEAST_CHARACTERS
    validation: Validation = "structural"
    judge_labels: tuple[str, ...] = ()
    next_phase: str = ""
    write_areas: tuple[str, ...] = ()
    most_revisions: int = MOST_REVISIONS
