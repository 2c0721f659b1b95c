"""Judging a commission before a brief is made of it, and naming it."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC

from counterpoint.core.model.work import BODY_LIMIT
from counterpoint.core.rules.drafting import list_faults, title_faults
from counterpoint.dialects.agentic.nouns.briefs import (
    BRIEF_PRIORITIES,
    CONTENT_TYPES,
    DIFFICULTIES,
    WORD_COUNTS,
    BriefRequest,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.clock import moment, stamp
from counterpoint.kernel.errors import InvalidInput

SLUG_LIMIT = 120
VARIABLES_LIMIT = 16_000
"""Bytes of JSON that the variables of a brief may have."""
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_APART = re.compile(r"[^a-z0-9]+")


def refuse_faults(request: BriefRequest) -> None:
    """Raise InvalidInput with all that is wrong with a commission."""
    faults = faults_of(request)
    if faults:
        raise InvalidInput("; ".join(faults), hint="Mend what is named and try again.")


def faults_of(request: BriefRequest) -> list[str]:
    """Return all that is wrong with a commission."""
    faults = title_faults(request.title)
    words = {"keywords": request.keywords, "words": (request.service, request.category)}
    faults += list_faults(words)
    if len(request.description) > BODY_LIMIT:
        faults.append(f"the description is longer than {BODY_LIMIT} characters")
    faults += _choice_faults(request)
    if request.slug and (len(request.slug) > SLUG_LIMIT or _SLUG.fullmatch(request.slug) is None):
        faults.append(
            f"the slug is not small letters and digits joined by `-`, at most {SLUG_LIMIT} characters"
        )
    if len(canonical.dump_any(dict(request.variables)).encode()) > VARIABLES_LIMIT:
        faults.append(f"the variables have more than {VARIABLES_LIMIT} bytes of JSON")
    try:
        when(request)
    except ValueError:
        faults.append("the time it is scheduled for is not of ISO 8601")
    return faults


def _choice_faults(request: BriefRequest) -> list[str]:
    faults: list[str] = []
    if request.content_type not in CONTENT_TYPES:
        faults.append(f"the content type is one of {', '.join(CONTENT_TYPES)}")
    if request.difficulty not in DIFFICULTIES:
        faults.append(f"the difficulty is one of {', '.join(DIFFICULTIES[1:])}")
    for what, number, span in (
        ("priority", request.priority, BRIEF_PRIORITIES),
        ("word count", request.target_word_count, WORD_COUNTS),
    ):
        if number not in span:
            faults.append(f"the {what} is from {span[0]} to {span[-1]}")
    return faults


def when(request: BriefRequest) -> str:
    """Return the time a commission is scheduled for, in UTC; empty without one; ValueError."""
    if not request.scheduled_for:
        return ""
    scheduled = moment(request.scheduled_for)
    try:
        return stamp(scheduled if scheduled.tzinfo else scheduled.replace(tzinfo=UTC))
    except OverflowError as fault:
        raise ValueError(str(fault)) from fault


def slug_of(title: str, otherwise: str = "brief") -> str:
    """Return the slug of a title: its letters and digits without accents, joined by `-`.

    otherwise: the slug of a title that has none of these.
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return _APART.sub("-", plain).strip("-")[: SLUG_LIMIT - 20].strip("-") or otherwise
