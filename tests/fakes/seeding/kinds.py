"""Every kind of seeded change, and which of them nobody can find without a witness, and why."""

from __future__ import annotations

from typing import Final

IMPOSSIBLE: Final = {
    "rolled back": "an earlier copy of the database was right when it was made",
    "another history": "the program itself wrote it, for the same project and with the same key",
    "entries chained anew": (
        "a fact that no table holds was changed, and every hash behind it, up to the head, made anew;"
        " not behind an act that a person signed"
    ),
    "end cut off": "the last entries bore on no table, and the head was set back",
    "head signed again": (
        "either of the last two by somebody who has the key of the project too: the new end is signed, and"
        " stands in the place of the checkpoint beside the database"
    ),
}
"""What is sound in itself, with the reason; docs/proofs.md says the same."""

UNSEEN: Final = {
    "meters": "how often something was used: no entry tells of it, and nothing but a limit of calls depends on it",
    "search_docsize.origin": (
        "the note of the search index about which of its parts holds a document, as long as it names the right part"
    ),
    "search_data": (
        "the two sums of words by which the search weighs lengths, once a document was changed: they may only be too high"
    ),
    "bytes that hold nothing": "of a file: whoever reads sees the same",
}
"""What nobody looks at, with the reason; no change is drawn there."""

OF_ROWS: Final = (
    *("cell",) * 8,
    *("dropped", "doubled", "swapped", "schema") * 3,
    "search",
    *("entries chained anew", "end cut off", "head signed again"),
)
"""Kinds for every database, as often as they are drawn."""

OF_COPIES: Final = ("rolled back", "another history")
OF_FILES: Final = ("bytes", "bytes", "page", "truncated")
"""Kinds for a database that is a file."""
