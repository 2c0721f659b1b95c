"""Gets the run that a caller selects."""

from __future__ import annotations

from typing import Final

from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import LIVE, SpecSession
from counterpoint.dialects.foundry.rules.autonomy.commands import only_run
from counterpoint.dialects.foundry.verbs.queries import get_spec
from counterpoint.dialects.foundry.verbs.sessions.rows import latest_run, ref_of, spec_of
from counterpoint.dialects.foundry.verbs.sessions.views import RunSelector
from counterpoint.kernel.errors import NotFound

_MAX_LIVE_RUNS: Final = 21
"""One more live run is read than a refusal names."""


def get_run(view: Reading, selector: RunSelector) -> SpecSession:
    """Get the selected run: by its session, else the live or latest one of its spec, else the only live one.

    Raises NotFound (NO_ACTIVE_SESSION, SPEC_NOT_FOUND), Conflict (AMBIGUOUS_ACTIVE_SESSION).
    """
    candidates = _list_candidates(view, selector)
    rows = {row.session: row for row in candidates}
    refs = [ref_of(row, spec_of(view, row)) for row in candidates]
    return rows[only_run(refs, selector.session or selector.spec).session]


def _list_candidates(view: Reading, selector: RunSelector) -> list[SpecSession]:
    root = get_spec(view, selector.spec) if selector.spec else None
    if selector.session:
        row = view.find(SpecSession, selector.session)
        if row is not None and root is not None and row.spec != root.id:
            raise NotFound(
                f"the run {selector.session} is not of {selector.spec}",
                hint="Leave one of the two out.",
                error_code="NO_ACTIVE_SESSION",
            )
        return [row] if row else []
    if root is not None:
        latest = latest_run(view, root.id)
        return [latest] if latest else []
    return [
        row
        for status in LIVE
        for row in view.select(
            SpecSession, status=status, order="created_at,session", limit=_MAX_LIVE_RUNS
        )
    ]
