"""Rewrites of whole documents: fixes, and replacements of texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.dialects.foundry.rules.editing.fixing import FixAction, fixed
from counterpoint.dialects.foundry.rules.editing.hours import recalculated
from counterpoint.dialects.foundry.rules.editing.replacing import Replacement, replaced
from counterpoint.dialects.foundry.rules.shape import same
from counterpoint.dialects.foundry.verbs.documents.applying import Applying
from counterpoint.dialects.foundry.verbs.performing import perform
from counterpoint.dialects.foundry.verbs.queries import get_spec
from counterpoint.dialects.foundry.verbs.specs import whole
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import StaleVersion

T = TypeVar("T")
Document = dict[str, Json]

_TRIES: Final = 3
"""Attempts to rewrite a spec that others change meanwhile."""


class Editing:
    """Verbs that rewrite a whole document."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def position(self) -> int:
        """Return the position of the last entry: the version to which the next change can be undone."""
        with self._context.reading() as view:
            return view.head().size - 1

    def fix(self, spec: str, *, dry_run: bool = False) -> tuple[Document, tuple[FixAction, ...]]:
        """Fix what needs no decision; return the fixed document and the actions; NotFound."""
        now = self._context.ports.clock.now()

        def mend(document: Document) -> tuple[Document, tuple[Document, tuple[FixAction, ...]]]:
            fixed_document, actions = fixed(document, now)
            return fixed_document, (fixed_document, actions)

        return self.rewrite(spec, mend, "fixed", dry_run=dry_run)

    def recalculate(self, spec: str, *, dry_run: bool = False) -> dict[str, Json]:
        """Add up the hours of phases and the spec; return what that changes; NotFound."""
        return self.rewrite(spec, recalculated, "hours added up", dry_run=dry_run)

    def replace(
        self,
        spec: str,
        find: str,
        replacement: str,
        *,
        scope: str = "all",
        use_regex: bool = False,
        case_sensitive: bool = True,
        dry_run: bool = False,
    ) -> Replacement:
        """Replace a text in titles and descriptions; NotFound, InvalidInput."""

        def rewrite(document: Document) -> tuple[Document, Replacement]:
            outcome = replaced(
                document,
                find,
                replacement,
                scope=scope,
                use_regex=use_regex,
                case_sensitive=case_sensitive,
            )
            return outcome.document, outcome

        return self.rewrite(spec, rewrite, "replaced", dry_run=dry_run)

    def rewrite(
        self,
        spec: str,
        make: Callable[[Document], tuple[Document, T]],
        because: str,
        *,
        dry_run: bool = False,
    ) -> T:
        """Apply a document that is made from the present one, all of it or nothing; return what `make` returned beside it.

        It is made before the transaction, since that may take long; where the spec has changed meanwhile, anew.
        Raises StaleVersion if it changes again and again, and what applying raises.
        """
        for _ in range(_TRIES):
            with self._context.reading() as view:
                before = whole(view, get_spec(view, spec))
            rewritten, answer = make(before)
            if same(before, rewritten):
                return answer
            if self._apply(spec, before, rewritten, because, dry_run=dry_run):
                return answer
        raise StaleVersion(f"{spec} changed again and again while it was rewritten")

    def _apply(
        self,
        spec: str,
        before: Mapping[str, Json],
        document: Mapping[str, Json],
        because: str,
        *,
        dry_run: bool,
    ) -> bool:
        """Apply a document, unless the spec has changed meanwhile; return whether it was applied."""

        def act(context: Context) -> bool:
            with recording(context, "spec.rewritten") as change:
                root = get_spec(change.writing, spec)
                if not same(whole(change.writing, root), dict(before)):
                    return False
            Applying(context).apply(spec, document, whole=True, because=because)
            return True

        return perform(self._context, act, dry_run=dry_run)
