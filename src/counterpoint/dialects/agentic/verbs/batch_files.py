"""Batches that are files: each article becomes one brief, by its slug."""

from __future__ import annotations

from typing import Final

from counterpoint.core.operations.recording.change import masked
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import joined
from counterpoint.dialects.agentic.nouns.briefs import Brief, BriefRequest
from counterpoint.dialects.agentic.nouns.writing import WritingOrder
from counterpoint.dialects.agentic.rules.batch_file import parse_batch
from counterpoint.dialects.agentic.verbs.briefs import Briefs, draft_of
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound
from counterpoint.kernel.matching.expressions import expression

FOLDER: Final = ".counterpoint/batches"
SIZE_LIMIT: Final = 200_000
"""Bytes that a file may have."""
_SAID: Final = (
    *("title", "description", "content_type", "service", "keywords", "category", "difficulty"),
    *("target_word_count", "variables", "priority"),
)
"""What of a brief its article says."""
_NAME: Final = expression(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class BatchFiles:
    """Verbs for batches that lie beside the code."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def take_in(self, batch: str) -> None:
        """Make briefs of the articles that have none in the batch yet; InvalidInput, Conflict for slugs of other briefs."""
        lacking, _ = self._compare(batch)
        if lacking:
            with joined(self._context):
                for request in lacking:
                    Briefs(self._context).create(request)

    def drafts(self, batch: str) -> list[Brief]:
        """Return the briefs that `take_in` would make; nothing is written. InvalidInput, Conflict."""
        now = self._context.ports.clock.now()
        return [draft_of(self._context, request, "", 0, now) for request in self._compare(batch)[0]]

    def differing(self, batch: str) -> list[str]:
        """Return the slugs of which the file says otherwise than the briefs that were made of it; InvalidInput, Conflict."""
        return [
            brief.slug
            for request, brief in self._compare(batch)[1]
            if self._differs(request, brief)
        ]

    def _compare(self, batch: str) -> tuple[list[BriefRequest], list[tuple[BriefRequest, Brief]]]:
        """Return the articles without a brief, and those that have one with it."""
        requests = self._load_requests(batch)
        with self._context.reading() as view:
            orders = view.select(WritingOrder, batch=batch) if requests else []
            briefs = [brief for order in orders if (brief := view.find(Brief, order.brief))]
            by_slug = {brief.slug: brief for brief in briefs}
            lacking = [request for request in requests if request.slug not in by_slug]
            taken = [request.slug for request in lacking if view.exists(Brief, slug=request.slug)]
        if taken:
            raise Conflict(
                f"the file of the batch {batch} cannot be taken in: other briefs have the slugs {', '.join(taken)}",
                hint="Choose other slugs in the file, and call again; nothing was written.",
            )
        return lacking, [
            (request, by_slug[request.slug]) for request in requests if request.slug in by_slug
        ]

    def _differs(self, request: BriefRequest, brief: Brief) -> bool:
        draft = draft_of(self._context, request, brief.id, brief.number, brief.created_at)
        draft = masked(draft, self._context.ports.secrets)
        return any(getattr(draft, name) != getattr(brief, name) for name in _SAID)

    def _load_requests(self, batch: str) -> tuple[BriefRequest, ...]:
        """Return the requests of a batch's file; none without a file."""
        if not _NAME.fullmatch(batch):
            return ()
        evidence, root = self._context.ports.evidence, self._context.caller.root
        try:
            content = evidence.load(root, f"{FOLDER}/{batch}.md", SIZE_LIMIT)
        except NotFound:
            return ()
        try:
            return parse_batch(content.decode("utf-8-sig"), batch)
        except UnicodeDecodeError as fault:
            raise InvalidInput(
                f"the file of the batch {batch} is no text in UTF-8", hint="Mend the file."
            ) from fault
