"""What somebody does to the rows of a database behind its back, the same in every database.

A change says how it was done; nothing, if it would have changed nothing or the database itself refused it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Protocol

import orjson

from counterpoint.core.ledger.checkpoint import Checkpoint, seal
from counterpoint.core.ledger.merkle import Frontier, leaf_hash
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.storage.packing import pack
from counterpoint.storage.tree import to_store
from fakes.seeding.kinds import UNSEEN
from fakes.studio import PROJECT, FixedKey

Row = tuple[Any, ...]
KEY = VerifierKey(name=f"counterpoint/{PROJECT}", public_key=FixedKey().public_key)


class Hands(Protocol):
    """Somebody who can write the database and whom no guard keeps from it. note: a head that he signed himself."""

    note: str
    entries: list[bytes]

    def tables(self) -> list[str]:
        """Answer the tables with rows that verification looks at."""
        ...

    def columns(self, table: str) -> tuple[list[str], list[str]]:
        """Answer the columns of a table, and those of its key."""
        ...

    def run(self, text: str, values: Row = ()) -> list[Row]:
        """Run a statement with `?` for values; `IS` tells of two values whether they are the same."""
        ...

    def schema(self, random: Random) -> str:
        """Change what is no row."""
        ...

    def search(self, random: Random) -> str:
        """Change what the search finds of a document."""
        ...


Change = Callable[[Hands, Random], str]


def _rows(hands: Hands, table: str, keys: list[str]) -> list[Row]:
    named = ", ".join(f'"{key}"' for key in keys)
    return hands.run(f'SELECT {named} FROM "{table}" ORDER BY {named}')


def _where(keys: list[str]) -> str:
    return " AND ".join(f'"{key}" IS ?' for key in keys)


def _other(value: Any, random: Random) -> Any:
    if isinstance(value, int):
        return random.choice((value - 1, value + 1, value + 1000, -value, 0))
    if isinstance(value, bytes):
        if not value:
            return random.randbytes(32)
        place = random.randrange(len(value))
        flipped = bytes([value[place] ^ 1 << random.randrange(8)])
        return random.choice((value[:place] + flipped + value[place + 1 :], value[:-1], b""))
    return random.choice((value + "x", value[:-1], value.swapcase(), "", "ü", value + " "))


def cell(hands: Hands, random: Random) -> str:
    """One cell of any table: something else, or what another row has there."""
    table = random.choice(hands.tables())
    columns, keys = hands.columns(table)
    column = random.choice([one for one in columns if f"{table}.{one}" not in UNSEEN])
    rows = _rows(hands, table, keys)
    key, beside = random.choice(rows), random.choice(rows)
    asked = f'SELECT "{column}" FROM "{table}" WHERE {_where(keys)}'
    ((value,),) = hands.run(asked, key)
    other = hands.run(asked, beside)[0][0] if random.random() < 0.2 else _other(value, random)
    if other == value:
        return ""
    hands.run(f'UPDATE "{table}" SET "{column}" = ? WHERE {_where(keys)}', (other, *key))
    written = (
        key
        if column not in keys
        else tuple(other if name == column else part for name, part in zip(keys, key, strict=True))
    )
    if hands.run(asked, written) == [(value,)]:
        return ""  # the type of the column has made the same of it
    return f"{table}.{column} of {key!r}: {value!r:.60} became {other!r:.60}"


def dropped(hands: Hands, random: Random) -> str:
    """One row of any table less."""
    table = random.choice(hands.tables())
    _, keys = hands.columns(table)
    key = random.choice(_rows(hands, table, keys))
    hands.run(f'DELETE FROM "{table}" WHERE {_where(keys)}', key)
    return f"{table} without {key!r}"


def doubled(hands: Hands, random: Random) -> str:
    """One row of any table once more, under another key."""
    table = random.choice(hands.tables())
    columns, keys = hands.columns(table)
    key = random.choice(_rows(hands, table, keys))
    named = ", ".join(f'"{column}"' for column in columns)
    row = list(hands.run(f'SELECT {named} FROM "{table}" WHERE {_where(keys)}', key)[0])
    place = columns.index(random.choice(keys))
    row[place] = _other(row[place], random)
    marks = ", ".join("?" * len(row))
    hands.run(f'INSERT INTO "{table}" ({named}) VALUES ({marks})', tuple(row))
    return f"{table} with {row[place]!r} beside {key!r}"


def swapped(hands: Hands, random: Random) -> str:
    """What two rows of a table hold, exchanged."""
    table = random.choice(hands.tables())
    columns, keys = hands.columns(table)
    rows = _rows(hands, table, keys)
    one, two = random.choice(rows), random.choice(rows)
    rest = [name for name in columns if name not in keys and f"{table}.{name}" not in UNSEEN]
    if one == two or not rest:
        return ""
    named = ", ".join(f'"{column}"' for column in rest)
    read = f'SELECT {named} FROM "{table}" WHERE {_where(keys)}'
    first, second = hands.run(read, one)[0], hands.run(read, two)[0]
    if first == second:
        return ""
    update = (
        f'UPDATE "{table}" SET {", ".join(f"{name} = ?" for name in rest)} WHERE {_where(keys)}'
    )
    hands.run(update, (*second, *one))
    hands.run(update, (*first, *two))
    return f"{table}: {one!r} and {two!r} exchanged"


def schema(hands: Hands, random: Random) -> str:
    """A trigger, an index, a view, a table or a column more, less or another one."""
    return hands.schema(random)


def search(hands: Hands, random: Random) -> str:
    """What the search finds of a document."""
    return hands.search(random)


def chained(hands: Hands, random: Random) -> str:
    """A fact of an entry changed, and everything behind it hashed anew up to the head."""
    entries = list(hands.entries)
    chosen = random.randrange(len(entries))
    fields = orjson.loads(entries[chosen])
    fields["f"] = {**fields.get("f", {}), "seen": random.randrange(9)}
    entries[chosen] = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
    _write(hands, entries)
    return f"entry {chosen} and all behind it"


def cut(hands: Hands, random: Random) -> str:
    """The last entries taken away, and the head set back; the rows stay."""
    left = random.randrange(1, len(hands.entries))
    _write(hands, hands.entries[:left])
    return f"{len(hands.entries) - left} entries less"


def signed_again(hands: Hands, random: Random) -> str:
    """One of these two by somebody with the key, who signs the new end and keeps it beside the database."""
    how = random.choice((chained, cut))(hands, random)
    frontier = Frontier()
    rows = hands.run("SELECT leaf FROM entries WHERE project = ? ORDER BY sequence", (PROJECT,))
    for (leaf,) in rows:
        frontier, _ = frontier.append(bytes(leaf))
    head = Checkpoint(origin=KEY.name, size=len(rows), root=frontier.root())
    hands.note = seal(head, FixedKey().sign, KEY)
    return f"{how}, signed"


def _write(hands: Hands, entries: list[bytes]) -> None:
    """Write entries in place of those that there are, chained and with the tree that they make."""
    for table in ("entries", "nodes"):
        hands.run(f"DELETE FROM {table} WHERE project = ?", (PROJECT,))
    frontier, before = Frontier(), "0" * 64
    head: Row = ()
    for place, data in enumerate(entries):
        fields = orjson.loads(data)
        fields["h"] = before
        written = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
        leaf = leaf_hash(written)
        frontier, nodes = frontier.append(leaf)
        row = (PROJECT, place, pack(written, PROJECT, place, before), leaf)
        beside = (fields.get("s", ""), fields["a"])
        hands.run("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (*row, *beside))
        for node in to_store(nodes):
            hands.run("INSERT INTO nodes VALUES (?, ?, ?, ?)", (PROJECT, *node))
        before = leaf.hex()
        head = (len(entries), before, fields["t"], frontier.to_bytes(), PROJECT)
    hands.run("UPDATE heads SET size = ?, leaf = ?, time = ?, frontier = ? WHERE project = ?", head)


CHANGES: dict[str, Change] = {
    "cell": cell,
    "dropped": dropped,
    "doubled": doubled,
    "swapped": swapped,
    "schema": schema,
    "search": search,
    "entries chained anew": chained,
    "end cut off": cut,
    "head signed again": signed_again,
}
