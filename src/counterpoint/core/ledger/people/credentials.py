"""Whether credentials were created and revoked as the program does it.

(1) A row of `tokens` stands in an entry whose subject it is, one in each. It is written whole, by `token.created`, once, with
    a digest that no other has; it is changed in `revoked_at` alone, by `token.revoked`, to the time of that entry; and in
    `expires_at` alone, by `token.renewed`, to as many seconds after that entry as its fact `seconds` says, or to none.
(2) Where a person made or renewed it, its `name`, `scopes` and `sha256` are the facts `name`, `scopes` and `digest`, which he signed.
(3) Its `maker` is a person's key only where that person made it.
(4) From the entry that enrols the first key of a person, while any is in force, only a person makes or renews one with `maintain`.

So whoever has the database and the server's key makes no credential that may loosen what others work on, has none pass for
one that a person vouched for, and puts no digest of his own in the place of another's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from counterpoint.core.model.access import LONGEST_SECONDS, MAINTAIN, Token
from counterpoint.kernel.clock import Timestamp, later

CREATED: Final = "token.created"
REVOKED: Final = "token.revoked"
RENEWED: Final = "token.renewed"
_LEFT_OUT: Final[Mapping[str, Any]] = {"maker": "", "name": "", "scopes": [], "sha256": ""}
"""What the columns are that a row leaves out: empty, and of these sorts."""
_SIGNED: Final = {"name": "name", "scopes": "scopes", "sha256": "digest"}
"""The columns that a person signs, each with its fact."""


class Credentials:
    """The credentials up to a place of the ledger."""

    def __init__(self) -> None:
        """Begin before the first entry."""
        self._known: set[str] = set()
        """Their ids and their digests."""
        self._columns: dict[str, dict[str, Any]] = {}
        """Of each what a person signs."""

    def read(
        self, entry: Mapping[str, Any], keys: Collection[str], revoked: Collection[str]
    ) -> Iterator[str]:
        """Say in words what is wrong with a credential that an entry writes.

        known, revoked: the keys of people that were enrolled before, and those that are not in force any more.
        """
        rows = [row for row in entry.get("r", ()) if row["t"] == Token.table]
        if not rows:
            return
        name = entry.get("s", "")
        if len(rows) != 1 or rows[0]["k"] != {"id": name}:
            yield "writes another credential than it tells"
            return
        row: Mapping[str, Any] = rows[0]
        if entry["a"] == REVOKED and name in self._columns:
            if row.get("c") != {"revoked_at": entry["t"]}:
                yield "changes more of a credential than its end"
            return
        if entry["a"] == RENEWED and name in self._columns:
            yield from self._renewal_faults(entry, row.get("c") or {}, len(keys) > len(revoked))
            return
        columns: Mapping[str, Any] = {**_LEFT_OUT, **(row.get("v") or {})}
        digest = columns["sha256"]
        is_of_sort = all(
            type(columns[column]) is type(empty) for column, empty in _LEFT_OUT.items()
        )
        if entry["a"] != CREATED or not (is_of_sort and digest) or {name, digest} & self._known:
            yield "writes a credential in another way than the program makes one"
            return
        self._known |= {name, digest}
        self._columns[name] = {column: columns[column] for column in _SIGNED}
        yield from _departures(entry, columns, keys, revoked)

    def _renewal_faults(
        self, entry: Mapping[str, Any], changes: Mapping[str, Any], is_asked: bool
    ) -> Iterator[str]:
        """Say in words what is wrong with a credential that is to last longer. is_asked: whether a key of a person is in force."""
        if set(changes) != {"expires_at"} or not isinstance(changes["expires_at"], str):
            yield "changes more of a credential than how long it lasts"
            return
        if changes["expires_at"] != _end_of(entry):
            yield "lets a credential last for another time than it says"
        columns, facts = self._columns[entry["s"]], entry.get("f", {})
        is_persons = entry["w"].get("i", {}).get("k") == "person"
        if is_persons and any(
            columns[column] != facts.get(fact) for column, fact in _SIGNED.items()
        ):
            yield "renews another credential than was signed"
        if is_asked and not is_persons and MAINTAIN in columns["scopes"]:
            yield f"renews a credential with `{MAINTAIN}`, and no person signed that"


def _end_of(entry: Mapping[str, Any]) -> str | None:
    """Return when a credential ends that an entry renews; empty for never, None where it does not say for how long."""
    seconds = entry.get("f", {}).get("seconds")
    if type(seconds) is not int or not 0 <= seconds <= LONGEST_SECONDS:
        return None
    return later(Timestamp(entry["t"]), seconds) if seconds else ""


def _departures(
    entry: Mapping[str, Any],
    columns: Mapping[str, Any],
    keys: Collection[str],
    revoked: Collection[str],
) -> Iterator[str]:
    principal: Mapping[str, Any] = entry["w"].get("i", {})
    is_persons = principal.get("k") == "person"
    facts: Mapping[str, Any] = entry.get("f", {})
    if is_persons and any(columns[column] != facts.get(fact) for column, fact in _SIGNED.items()):
        yield "makes another credential than was signed"
    if columns["maker"] in keys and not (is_persons and principal["i"] == columns["maker"]):
        yield "makes a credential in the name of a person"
    is_asked = len(keys) > len(revoked)
    if is_asked and not is_persons and MAINTAIN in columns["scopes"]:
        yield f"makes a credential with `{MAINTAIN}`, and no person signed that"
