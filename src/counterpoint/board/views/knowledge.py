"""The pages of decisions, learnings, findings and documents."""

from __future__ import annotations

from typing import Any, Final

from counterpoint.board.pages import Answer
from counterpoint.board.views.search import KNOWLEDGE
from counterpoint.core.model.documents import Document, Passage, Shelf
from counterpoint.core.model.journal import Record
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.ports.store import Filter
from counterpoint.kernel.errors import NotFound

RECORDS: Final = 30
PASSAGES: Final = 40
_SHELVES: Final[tuple[Shelf, ...]] = ("project", "vault")
_ALIKE: Final = 6


class KnowledgeReads(Verbs):
    """Reads of records and documents."""

    def records(self, kind: str, before: int) -> list[Record]:
        """Return the latest records of a kind, or those before a number; one more than a page shows."""
        # The index that has records of a kind in order asks for the status too.
        equal: dict[str, Filter] = {"kind": kind, "status": ""}
        with self._context.reading() as view:
            beyond = (before,) if before else ()
            return view.select(
                Record, order="number desc", after=beyond, limit=RECORDS + 1, **equal
            )

    def document(self, shelf: str, path: str) -> Document | None:
        """Return a document; None without it."""
        with self._context.reading() as view:
            return view.find(Document, shelf, path)

    def passages(self, document: Document, after: int) -> list[Passage]:
        """Return the passages of a document from a position on; one more than a page shows."""
        with self._context.reading() as view:
            return view.select(
                Passage,
                shelf=document.shelf,
                path=document.path,
                order="position",
                after=(after - 1,) if after else (),
                limit=PASSAGES + 1,
            )


def read_knowledge(answer: Answer) -> dict[str, Any]:
    """Return the records of a kind, the documents, or one of either."""
    reads = answer.core.use(KnowledgeReads)
    kind = answer.query.get("kind", "")
    kind = kind if kind in {*KNOWLEDGE, "document"} else KNOWLEDGE[0]
    page: dict[str, Any] = {
        "kind_shown": kind,
        "kinds": (*KNOWLEDGE, "document"),
        "records": (),
        "documents": (),
        "record": None,
        "document": None,
        "following": "",
    }
    shelf, _, path = answer.subpath.partition("/")
    if shelf in _SHELVES and path:
        return page | _read_document(answer, reads, shelf, path)
    if answer.subpath:
        return page | _read_record(answer)
    if kind == "document":
        after = answer.query.get("after", "")
        documents = [
            document
            for name in _SHELVES
            for document in answer.core.documents.list(name, after, RECORDS + 1)
        ]
        documents.sort(key=lambda document: document.path)
        following = documents[RECORDS - 1].path if len(documents) > RECORDS else ""
        return page | {"documents": documents[:RECORDS], "following": following}
    records = reads.records(kind, answer.number("before"))
    following = str(records[RECORDS - 1].number) if len(records) > RECORDS else ""
    return page | {"records": records[:RECORDS], "following": following}


def _read_record(answer: Answer) -> dict[str, Any]:
    record = answer.core.overview.find(Record, answer.subpath)
    if record is None:
        raise NotFound(
            f"there is no record {answer.subpath[:60]!r}",
            hint="The page of decisions lists those that there are: /knowledge",
        )
    text = f"{record.title} {record.body}"
    alike = answer.core.overview.alike(record.kind, text, limit=_ALIKE)
    return {
        "record": record,
        "kind_shown": record.kind,
        "alike": [other for other in alike if other.id != record.id],
    }


def _read_document(answer: Answer, reads: KnowledgeReads, shelf: str, path: str) -> dict[str, Any]:
    document = reads.document(shelf, path)
    if document is None:
        raise NotFound(
            f"there is no document {path[:60]!r}",
            hint="The page of documents lists those that there are: /knowledge?kind=document",
        )
    passages = reads.passages(document, answer.number("from"))
    return {
        "document": document,
        "kind_shown": "document",
        "passages": passages[:PASSAGES],
        "following": str(passages[PASSAGES].position) if len(passages) > PASSAGES else "",
    }
