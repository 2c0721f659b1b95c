"""Whether a person with a key has trusted what a configuration loosens.

(1) A person's entry that sets `trusted` or `search_path` of the row of `projects` has the action `configuration.trusted`, and sets
    `trusted` to its fact `digest`, which he signed. It is a digest of what he trusted and of that path.
(2) From the entry that enrols the first key of a person, while any is in force, no other entry sets one of them.

So whoever has the database and the server's key lets no command of his own be run as one that a person has looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from counterpoint.core.model.work import Project

TRUSTED: Final = "configuration.trusted"
_COLUMNS: Final = frozenset(("search_path", "trusted"))


def trust_faults(
    entry: Mapping[str, Any], keys: Collection[str], revoked: Collection[str]
) -> Iterator[str]:
    """Say in words what is wrong with how an entry trusts a configuration.

    known, revoked: the keys of people that were enrolled before, and those that are not in force any more.
    """
    for row in [image for image in entry.get("r", ()) if image["t"] == Project.table]:
        columns: Mapping[str, Any] = row.get("v") or row.get("c") or {}
        if _COLUMNS.isdisjoint(columns):
            continue
        if entry["w"].get("i", {}).get("k") == "person":
            act = entry["a"], columns.get("trusted", "")
            if act != (TRUSTED, entry.get("f", {}).get("digest")):
                yield "trusts another configuration than was signed"
        elif not set(keys) <= set(revoked):
            yield "trusts a configuration, and no person signed that"
