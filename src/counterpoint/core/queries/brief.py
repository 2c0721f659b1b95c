"""What a brief is made of, read at one moment."""

from __future__ import annotations

from itertools import chain

from counterpoint.core.model.answers import Brief
from counterpoint.core.model.filters import ReadyFilter
from counterpoint.core.operations.claims import Claims
from counterpoint.core.operations.readiness import Ready, first_queries
from counterpoint.core.operations.recording.connection_sessions import caller_queries
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.contributions import relaxed_query
from counterpoint.core.operations.recording.handover import DROPPED
from counterpoint.core.operations.trust.permitted import Permitted
from counterpoint.core.queries.awaiting import AWAITED, AwaitedWork
from counterpoint.core.queries.overview import STATE, Overview, recent_query


class Briefs(Verbs):
    """Verbs that tell a caller where it is."""

    def load(self, item: str, ready_filter: ReadyFilter, limit: int) -> Brief:
        """Return the parts of a brief about an item, or what the caller holds; NotFound. limit: of offers and records."""
        context = self._context
        overview, claims = Overview(context), Claims(context)
        decisions = recent_query("decision", limit=limit)
        with context.reading() as view:
            view.fetch(
                chain(
                    STATE,
                    caller_queries(context.caller),
                    first_queries(ready_filter),
                    AWAITED,
                    (DROPPED, relaxed_query(context.caller), decisions),
                )
            )
            held = overview.held()
            chosen = item or (held[0].item.id if held else context.caller.item)
            facets = overview.facets(chosen) if chosen else None
            offers = Ready(context).offers(ready_filter, limit)
            return Brief(
                state=overview.state(),
                facets=facets,
                held=held,
                handoff=overview.last_handoff(),
                offers=offers,
                lacking=Permitted(context).lacking_of([offer.item.id for offer in offers]),
                awaiting=AwaitedWork(context).list(),
                begun=overview.to_continue(),
                released=claims.freed(),
                news=claims.news(held),
                decisions=decisions.rows(view),
                # Those that share words with the item's title, else the latest.
                learnings=overview.recent("learning", limit=limit)
                if facets is None
                else overview.alike("learning", facets.item.title, limit=limit),
            )
