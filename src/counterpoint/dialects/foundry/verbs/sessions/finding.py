"""Finds the run that a caller means."""

from __future__ import annotations

from typing import Final

from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import LIVE, SpecSession
from counterpoint.dialects.foundry.rules.autonomy.commands import only_run
from counterpoint.dialects.foundry.verbs.queries import spec_named
from counterpoint.dialects.foundry.verbs.sessions.rows import latest_run, ref_of, spec_of
from counterpoint.dialects.foundry.verbs.sessions.views import RunOf
from counterpoint.kernel.errors import NotFound

_ASKED: Final = 21
"""How many live runs are looked at: one more than a refusal names."""


def run_named(view: Reading, wanted: RunOf) -> SpecSession:
    """Return the run that is meant: by its session, else the live or latest one of its spec, else the only live one.

    Raises NotFound (NO_ACTIVE_SESSION, SPEC_NOT_FOUND), Conflict (AMBIGUOUS_ACTIVE_SESSION).
    """
    found = _candidates(view, wanted)
    rows = {row.session: row for row in found}
    refs = [ref_of(row, spec_of(view, row)) for row in found]
    return rows[only_run(refs, wanted.session or wanted.spec).session]


def _candidates(view: Reading, wanted: RunOf) -> list[SpecSession]:
    root = spec_named(view, wanted.spec) if wanted.spec else None
    if wanted.session:
        found = view.find(SpecSession, wanted.session)
        if found is not None and root is not None and found.spec != root.id:
            raise NotFound(
                f"the run {wanted.session} is not of {wanted.spec}",
                hint="Leave one of the two out.",
                error_code="NO_ACTIVE_SESSION",
            )
        return [found] if found else []
    if root is not None:
        latest = latest_run(view, root.id)
        return [latest] if latest else []
    return [
        row
        for status in LIVE
        for row in view.select(SpecSession, status=status, order="created_at,session", limit=_ASKED)
    ]
