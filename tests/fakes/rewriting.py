"""An attacker who can write the database, and makes all of it agree again."""

from __future__ import annotations

import re

from counterpoint.core.ledger.entry import GENESIS, load_fields
from counterpoint.core.ledger.merkle import Frontier, leaf_hash
from counterpoint.core.operations.auditing.replay import Fold
from counterpoint.core.ports.store import Append
from counterpoint.kernel.clock import Timestamp
from fakes.stored import Stored

_PREVIOUS = re.compile(rb'"h":"[0-9a-f]{64}"')


def rewrite(stored: Stored, old: bytes, new: bytes) -> None:
    """Put another history in the place of a ledger: chain, tree, head, tables and texts are right again."""
    source = stored.open()
    (project,) = [one.project for one in source.projects()]
    with source.reading(project) as view:
        entries, texts = list(view.entries()), dict(view.texts())
    source.close()
    stored.put()
    target = stored.open()
    previous, frontier = GENESIS, Frontier()
    with target.writing(project) as writing:
        writing.keep(texts)
        fold = Fold(writing)
        for sequence, entry in enumerate(entries):
            data = _PREVIOUS.sub(b'"h":"%b"' % previous.encode(), entry.replace(old, new), 1)
            leaf = leaf_hash(data)
            frontier, nodes = frontier.append(leaf)
            fields = load_fields(data)
            fold.apply(fields)
            writing.append(
                Append(
                    sequence=sequence,
                    previous=previous,
                    data=data,
                    leaf=leaf,
                    time=Timestamp(fields["t"]),
                    subject=fields.get("s", ""),
                    action=fields["a"],
                    frontier=frontier.to_bytes(),
                    nodes=tuple(nodes),
                )
            )
            previous = leaf.hex()
    assert (old in b"".join(entries)) is True
    target.close()
