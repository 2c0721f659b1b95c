"""Documents in and out: files cut into passages that a question finds.

Rule 1: a document is kept under its path; bytes that are the same are not taken in twice. Rule 2: taking
a document in anew replaces all its passages in one transaction, and leaves alone those that stayed.
Rule 3: the shelf `project` is for this project, which must have said that it uses one; what stands on
the shelf `vault` is found from every project of the database, but only its own project changes it.
Rule 4: how passages are ranked is one function, so that another can take its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Final

from counterpoint.core.model.documents import (
    Document,
    Fit,
    Passage,
    PassageFound,
    PassageQuery,
    Shelf,
    StoredDocument,
)
from counterpoint.core.model.journal import StateEntry
from counterpoint.core.model.rows import Prose, Proses
from counterpoint.core.operations.finding.hits import meaning_of
from counterpoint.core.operations.memory import Memory
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Ports
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.documents import Chunk, cut, extract, from_pages, is_pdf, suffix_of
from counterpoint.core.rules.fitting import (
    CANDIDATES,
    Excerpt,
    asked_words,
    drop_common_words,
    rank_hits,
    score_excerpts,
)
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json, sha256
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound, PathOutside

_CLOSED: Final = frozenset({".git", ".counterpoint"})
"""Folders of which nothing becomes a document: others' keys and remotes stand there."""
SIZE_LIMIT: Final = 5_000_000
"""Bytes that a document may have."""
PASSAGE_LIMIT: Final = 10_000
"""Passages that a document may be cut into."""

_SCOPE: Final = "settings"
_NAME: Final = "vault"

Rank = Callable[[Ports, Reading, Shelf, str], list[tuple[Passage, Fit]]]
"""Answers passages of a shelf that fit a question, in any order; InvalidInput for one without a word."""


def rank_passages(
    ports: Ports, view: Reading, shelf: Shelf, query: str
) -> list[tuple[Passage, Fit]]:
    """Return the passages that have the asked words, or mean nearly the same."""
    words_asked = drop_common_words(asked_words(query))
    hits = view.search(words_asked, kinds=(shelf,), begun=True, limit=CANDIDATES)
    meaning = meaning_of(ports, view, query)
    near = meaning.nearest((shelf,)) if meaning else []
    cosines = meaning.cosines(hits) if meaning else {}
    rows = {
        hit.number: (hit, passage)
        for hit in (*near, *hits)
        if hit.table == Passage.table
        and (passage := view.find(Passage, *hit.key.split("/"))) is not None
    }
    having = [rows[hit.number] for hit in hits if hit.number in rows]
    excerpts = [
        Excerpt(text="\n".join((*passage.headings, passage.text)), relevance=hit.score)
        for hit, passage in having
    ]
    words = dict(
        zip(
            (hit.number for hit, _ in having),
            score_excerpts(words_asked, excerpts, view.stems),
            strict=True,
        )
    )
    order = rank_hits(
        words,
        {hit.number: hit.score for hit in near if hit.number in rows} | cosines,
        weight=meaning.model.weight if meaning else 0.0,
        least=meaning.model.least if meaning else 0.0,
    )
    return [(rows[number][1], fit) for number, fit in order if number in rows]


def _put_passages(change: Change, document: Document, chunks: Sequence[Chunk]) -> None:
    """Let a document have these passages and no others."""
    gone: dict[str, list[Passage]] = {}
    for passage in change.select(Passage, shelf=document.shelf, path=document.path):
        gone.setdefault(passage.text, []).append(passage)
    for position, chunk in enumerate(chunks):
        # A passage that only moved is written over, not dropped.
        same_text = gone.get(chunk.text)
        name = same_text.pop().id if same_text else change.context.ports.mint.mint("psg")
        change.put(
            Passage(
                project=document.project,
                shelf=document.shelf,
                id=name,
                path=document.path,
                position=position,
                headings=Proses(chunk.headings),
                text=Prose(chunk.text),
                first_line=chunk.first_line,
                last_line=chunk.last_line,
            )
        )
    for passages in gone.values():
        for passage in passages:
            change.drop(passage)


class Documents:
    """Verbs for documents."""

    def __init__(self, context: Context, rank: Rank = rank_passages) -> None:
        """Work at a context, with a way of ranking."""
        self._context = context
        self._rank = rank

    def configure(self, settings: Json) -> None:
        """Say that this project keeps documents of its own, and how; None: no longer."""
        memory = Memory(self._context)
        if settings is None:
            memory.forget(_SCOPE, _NAME)
        else:
            memory.put(_SCOPE, _NAME, settings, category=_SCOPE)

    def is_configured(self) -> bool:
        """Return whether this project keeps documents of its own."""
        with self._context.reading() as view:
            return view.find(StateEntry, _SCOPE, _NAME) is not None

    def take(self, path: str, shelf: Shelf = "vault", watch: Watch | None = None) -> StoredDocument:
        """Take a file of the tree in, or in anew; Conflict for a project without documents.

        watch: is called while a PDF is read; what it raises ends that, and nothing is taken.
        Raises NotFound, PathOutside, InvalidInput for what is no text or too long, Unavailable for a PDF where nothing reads one.
        """
        self._refuse_without(shelf)
        evidence, root = self._context.ports.evidence, self._context.caller.root
        name = evidence.contain(root, path)
        # A file system that ignores case opens `.git` by `.GIT` too.
        if not _CLOSED.isdisjoint(name.casefold().split("/")):
            raise PathOutside(
                f"{name} is no document: it belongs to git or to the ledger",
                hint="Name a file of the project itself.",
            )
        content = self._load(name)
        digest = sha256(content)
        with self._context.reading() as view:
            before = view.find(Document, shelf, name)
        if before is not None and before.sha256 == digest:
            return StoredDocument(document=before, is_same=True)
        if is_pdf(content):
            read = from_pages(evidence.pages(content, watch))
        else:
            read = extract(name, content)
        chunks = cut(read.text, markup=read.markup, suffix=suffix_of(name))
        if len(chunks) > PASSAGE_LIMIT:
            raise InvalidInput(
                f"{name} would be cut into more than {PASSAGE_LIMIT} passages",
                hint="Split it into several files.",
            )
        with recording(self._context, "document.taken") as change:
            change.open_session()
            # Read through the change, so that of a document that is there only what differs is
            # written.
            change.find(Document, shelf, name)
            document = Document(
                project=self._context.project,
                shelf=shelf,
                path=name,
                sha256=Prose(digest),
                size=len(content),
                markup=read.markup,
                chunks=len(chunks),
                agent=self._context.caller.actor.name,
                updated_at=change.now,
            )
            change.put(document)
            _put_passages(change, document, chunks)
            change.add_facts(shelf=shelf, path=name, passages=len(chunks))
            return StoredDocument(document=document, is_same=False)

    def _load(self, name: str) -> bytes:
        try:
            return self._context.ports.evidence.load(self._context.caller.root, name, SIZE_LIMIT)
        except NotFound as fault:
            raise NotFound(
                f"there is no file {name}",
                hint="Check the path; to take a document out that is gone, delete it by its path.",
            ) from fault

    def drop(self, path: str, shelf: Shelf = "vault") -> Document:
        """Take a document out with all its passages; NotFound."""
        with recording(self._context, "document.dropped") as change:
            change.open_session()
            document = change.find(Document, shelf, path) or change.find(
                Document, shelf, path.removeprefix("./")
            )
            if document is None:
                raise NotFound(
                    f"there is no document {path!r} on this project's shelf {shelf}",
                    hint="Paths are relative to the project root, as they were taken in.",
                )
            self._drop_passages(change, document)
            change.drop(document)
            change.add_facts(shelf=shelf, path=document.path, passages=document.chunks)
            return document

    def _drop_passages(self, change: Change, document: Document) -> None:
        for passage in change.select(Passage, shelf=document.shelf, path=document.path):
            change.drop(passage)

    def list(self, shelf: Shelf, after: str = "", limit: int = 100) -> list[Document]:
        """Return the documents of a shelf of this project by path, beyond a path."""
        beyond = (after,) if after else ()
        with self._context.reading() as view:
            return view.select(Document, shelf=shelf, order="path", after=beyond, limit=limit)

    def find(self, ask: PassageQuery, shelf: Shelf = "vault") -> list[PassageFound]:
        """Return the passages that fit a question, best first; InvalidInput, Conflict as above."""
        self._refuse_without(shelf)
        hits: list[PassageFound] = []
        for project in self._projects(shelf):
            with ExitStack() as stack:
                if project == self._context.project:
                    view = stack.enter_context(self._context.reading())
                else:
                    view = stack.enter_context(self._context.ports.store.reading(project))
                hits += [
                    PassageFound(passage=passage, fit=fit, project=project)
                    for passage, fit in self._rank(self._context.ports, view, shelf, ask.query)
                    if fit.best >= ask.least
                ]
        hits.sort(key=lambda hit: -hit.fit.score)
        return hits[: ask.limit]

    def _projects(self, shelf: Shelf) -> list[str]:
        if shelf == "project":
            return [self._context.project]
        return sorted(project.project for project in self._context.ports.store.projects())

    def _refuse_without(self, shelf: Shelf) -> None:
        if shelf == "project" and not self.is_configured():
            raise Conflict(
                "this project keeps no documents of its own: it has no vault configuration",
                hint=f"{Act.KEEP_DOCUMENTS}.",
            )
