"""SQL of both databases: statements, and the orders an index has.

Whether rows are sorted, or read from an index that has them in their order.
Without statistics a database takes the order for dearer than the filter: it walks through all rows of a project in the order that
is asked for, and leaves out those that nobody wanted. So where no index begins with what a filter says and goes on in that order,
and all rows are wanted that match, the order is by expressions that no index has: then the filter is looked up, and the few rows are
sorted. Of a page of rows that is not said, since one that many rows match is found soonest by walking.

The SQL text of every noun, built from its columns and from nothing else.
Rules: (1) every statement but one is bound to a project, whose value is the first parameter.
(2) Names of tables and columns come from the nouns; any other name is a fault of the program and
ends in an AssertionError before a statement is made. (3) Values only ever travel as parameters, but
for the words of a partial index, which stand in the text: only so does a database see that it will do.
(4) A prose column is answered as its text: '' stays '', a text that is gone is NULL. (5) A statement that is `veiled`
finds nothing of plans under way. Whether there is one at all is asked first, and by itself, so that databases ask it
once for a statement and not for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import count
from operator import itemgetter
from typing import Any, Final, NamedTuple

from counterpoint.core.model.catalogue import OF_PLANS
from counterpoint.core.model.rows import Cell, Noun, columns
from counterpoint.core.model.work import Item, Project, Staging
from counterpoint.core.ports.store import Filter

Shape = tuple[tuple[str, int | str], ...]
"""The columns of a filter, each with how many values it has; -1 is one value that must equal.

A word of the noun's partial indexes stands there itself.
"""
Ways = tuple[tuple[str, bool], ...]
"""The columns of an order, each with whether it runs downward."""


@cache
def is_sorted(noun: type[Noun], shape: Shape, ways: Ways) -> bool:
    """Return whether all rows that a filter matches are to be sorted, rather than read in their order."""
    filtered = {name for name, _ in shape}
    every = _indexes(noun, shape)
    if filtered.isdisjoint(index[0] for index in every):
        return False
    fixed = {name for name, many in shape if isinstance(many, str) or many < 0}
    order = [name for name, _ in ways]
    is_even = len({down for _, down in ways}) == 1
    return not (is_even and any(_gives_order(index, filtered, fixed, order) for index in every))


def _indexes(noun: type[Noun], shape: Shape) -> list[list[str]]:
    """Return the columns of each index that a filter may use, after the project."""
    column_lists = [*noun.indexes, *noun.unique]
    partial = noun.partial
    if partial is not None and dict(shape).get(partial.column) in partial.words:
        column_lists += partial.indexes
    key = [name for name in noun.key if name != "project"]
    return [index for index in (key, *(columns.split(",") for columns in column_lists)) if index]


def _gives_order(
    index: Sequence[str], filtered: set[str], fixed: set[str], order: Sequence[str]
) -> bool:
    """Return whether an index begins with what is asked for, and what follows stands in an order."""
    if index[0] not in filtered:
        return False
    open_columns = [name for name in index if name not in fixed]
    # What has one value may stand in an order too.
    open_order = [name for name in order if name not in fixed]
    many = min(len(open_columns), len(open_order))
    return open_columns[:many] == open_order[:many] and bool(open_columns or not open_order)


TEXT = "SELECT salt, body FROM texts WHERE project = ? AND commitment = ?"
TEXTS = (
    "SELECT commitment, salt, body FROM texts WHERE project = ? AND commitment > ?"
    " ORDER BY commitment LIMIT ?"
)
SIGNATURES = (
    "SELECT writer, first, delegation, note FROM signatures WHERE project = ? AND first > ?"
    " ORDER BY first LIMIT ?"
)
VOUCH = (
    "INSERT INTO signatures (project, writer, first, delegation, note) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (project, first) DO UPDATE SET writer = excluded.writer,"
    " delegation = excluded.delegation, note = excluded.note"
)
MOVED = "SELECT place, time FROM moved WHERE project = ?"
LEAVE = "INSERT INTO moved (project, place, time) VALUES (?, ?, ?)"
METER = "SELECT used FROM meters WHERE project = ? AND subject = ? AND measure = ?"
MEASURES = (
    "SELECT measure FROM meters WHERE project = ? AND subject = ? AND used > 0 ORDER BY measure"
)
USE = (
    "INSERT INTO meters (project, subject, measure, used) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (project, subject, measure) DO UPDATE SET used = excluded.used"
)
SEAT = (
    "INSERT INTO presences (project, seat, server, origin, uid, pid, started, boot, namespace, ended_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '') ON CONFLICT (project, seat, server) DO UPDATE SET"
    " origin = excluded.origin, uid = excluded.uid, pid = excluded.pid, started = excluded.started,"
    " boot = excluded.boot, namespace = excluded.namespace, ended_at = ''"
)
UNSEAT = "UPDATE presences SET ended_at = ? WHERE project = ? AND seat = ? AND server = ?"
BEAT = (
    "INSERT INTO servers (name, uid, pid, started, boot, namespace, beat_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (name) DO UPDATE SET beat_at = excluded.beat_at"
)
FORGET_ENDED = "DELETE FROM presences WHERE ended_at > '' AND ended_at < ?"
FORGET_LOST = "DELETE FROM presences WHERE server IN (SELECT name FROM servers WHERE beat_at < ?)"
FORGET_SERVERS = "DELETE FROM servers WHERE beat_at < ?"
HELD_AREAS = (
    # A claim without an end is given back when its item was last touched.
    "SELECT c.item, CASE c.agent WHEN '' THEN c.session ELSE c.agent END, a.pattern FROM areas AS a"
    " JOIN claims AS c ON c.project = a.project AND c.item = a.item"
    " JOIN items AS i ON i.project = c.project AND i.id = c.item"
    " JOIN start_points AS s ON s.project = c.project AND s.item = c.item AND s.token = c.token"
    " LEFT JOIN outcomes AS o ON o.project = c.project AND o.item = c.item AND o.token = c.token"
    " WHERE a.project = ? AND s.tree = ? AND c.session <> ?"
    " AND (c.state = 'live' AND c.leased_until >= ? OR o.ended_at >= ?"
    " OR c.state <> 'live' AND o.ended_at IS NULL AND i.updated_at >= ?)"
    " ORDER BY c.item, a.pattern"
)
HIDES = f"SELECT 1 FROM {Staging.table} WHERE project = ? AND status = 'hidden' LIMIT 1"
VEILED: Final = frozenset((Item, *OF_PLANS))
"""What is not found of plans under way."""
_ALL_SEEN: Final = f"NOT EXISTS (SELECT 1 FROM {Staging.table} AS h WHERE h.status = 'hidden')"
_HIDING: Final = (
    f"SELECT 1 FROM {Staging.table} AS s WHERE s.status = 'hidden' AND s.project = t.project"
    ' AND t.number BETWEEN s."first" AND s."last"'
)
_HIDING_ITEM: Final = (
    f"SELECT 1 FROM {Item.table} AS i JOIN {Staging.table} AS s"
    ' ON s.project = i.project AND i.number BETWEEN s."first" AND s."last"'
    " WHERE s.status = 'hidden' AND i.project = {project} AND i.id = {about}.item"
)


@cache
def names(noun: type[Noun]) -> tuple[str, ...]:
    """Return the names of a noun's columns in order."""
    return tuple(column.name for column in columns(noun))


@cache
def row_key(noun: type[Noun]) -> tuple[str, ...]:
    """Return the columns that find one row of a project."""
    return tuple(name for name in noun.key if name != "project")


def check(noun: type[Noun], column_names: Iterable[str]) -> None:
    """Raise AssertionError if a name is not a column of the noun."""
    columns = names(noun)
    unknown = [name for name in column_names if name not in columns]
    if unknown:
        raise AssertionError(f"{noun.table} has no column {', '.join(unknown)}")


@cache
def presences(many: int) -> str:
    """Return the statement that reads what is known of the connections of so many sessions."""
    return (
        "SELECT p.seat, p.origin, p.uid, p.pid, p.started, p.boot, p.namespace, p.ended_at,"
        " s.name, s.uid, s.pid, s.started, s.boot, s.namespace, s.beat_at"
        " FROM presences AS p JOIN servers AS s ON s.name = p.server"
        f" WHERE p.project = ? AND p.seat IN ({_marks(many)})"
    )


def projects() -> str:
    """Return the statement that reads every project; the one that is not bound to one."""
    return f"SELECT {listed(names(Project))} FROM {Project.table} ORDER BY project"


@cache
def find(noun: type[Noun], *, veiled: bool = False) -> str:
    """Return the statement that reads one row by its key."""
    where = f"{keyed(noun)}{_veil(noun) if veiled else ''}"
    return f"SELECT {_answered(noun)} FROM {noun.table} AS t WHERE {where}"


@cache
def put(noun: type[Noun]) -> str:
    """Return the statement that inserts a row or replaces the one with its key."""
    every = names(noun)
    changed = [name for name in every if name not in noun.key]
    changes = ", ".join(f'"{name}" = excluded."{name}"' for name in changed)
    return (
        f"INSERT INTO {noun.table} ({listed(every)})"
        f" VALUES ({', '.join('?' * len(every))})"
        f" ON CONFLICT ({listed(noun.key)}) DO {f'UPDATE SET {changes}' if changed else 'NOTHING'}"
    )


@cache
def change(noun: type[Noun], changed: tuple[str, ...]) -> str:
    """Return the statement that sets columns of one row; its values come before the key."""
    check(noun, changed)
    changes = ", ".join(f'"{name}" = ?' for name in changed)
    return f"UPDATE {noun.table} AS t SET {changes} WHERE {keyed(noun)}"


@cache
def drop(noun: type[Noun]) -> str:
    """Return the statement that deletes one row."""
    return f"DELETE FROM {noun.table} AS t WHERE {keyed(noun)}"


@cache
def table(noun: type[Noun], *, after: bool) -> str:
    """Return the statement that reads raw rows of a project by key; the limit is its last value.

    after: only those beyond a key, whose values come before the limit.
    """
    key = row_key(noun)
    beyond = f" AND ({listed(key)}) > ({', '.join('?' * len(key))})" if after else ""
    return (
        f"SELECT {listed(names(noun))} FROM {noun.table} WHERE project = ?{beyond}"
        f" ORDER BY {listed(noun.key)} LIMIT ?"
    )


def forget(many: int) -> str:
    """Return the statement that deletes so many texts."""
    marks = ", ".join("?" * many)
    return f"DELETE FROM texts WHERE project = ? AND commitment IN ({marks})"


@cache
def keep(many: int) -> str:
    """Return the statement that keeps so many texts under their commitments."""
    return (
        f"INSERT INTO texts (project, commitment, salt, body)"
        f" VALUES {', '.join(['(?, ?, ?, ?)'] * many)}"
        " ON CONFLICT (project, commitment) DO NOTHING"
    )


@cache
def last_number(noun: type[Noun]) -> str:
    """Return the statement that reads the highest number."""
    check(noun, ["number"])
    return f"SELECT coalesce(max(number), 0) FROM {noun.table} WHERE project = ?"


RESERVED = f'SELECT coalesce(max("last"), 0) FROM {Staging.table} WHERE project = ?'
"""Reads the highest number that was kept for an item, of a plan under way or of any before."""


class Selected(NamedTuple):
    """A question about a table. text: the statement that asks it; rows: what stands behind its columns."""

    noun: type[Noun]
    shape: Shape
    text: str
    rows: str
    is_exists: bool


@cache
def selected(
    noun: type[Noun],
    shape: Shape,
    order: str = "",
    after: bool = False,  # by place, which a cache finds soonest
    is_page: bool = True,
    veiled: bool = False,
    is_exists: bool = False,
) -> Selected:
    """Return the statement that reads filtered rows in an order; the limit is its last value.

    is_page: whether the limit leaves some of them out. is_exists: only whether there is such a row is asked, without a limit.
    """
    if is_exists:
        rows = _where(noun, shape, veiled=veiled)
        return Selected(noun, shape, f"SELECT 1{rows} LIMIT 1", rows, is_exists=True)
    ways = ordering(noun, order)
    beyond = f" AND {_beyond(ways)}" if after else ""
    sorted_by = _sorted_by(ways, sorts=not (is_page or after) and is_sorted(noun, shape, ways))
    rows = f"{_where(noun, shape, beyond, veiled=veiled)} ORDER BY {sorted_by} LIMIT ?"
    return Selected(noun, shape, f"SELECT {_answered(noun)}{rows}", rows, is_exists=False)


def _where(noun: type[Noun], shape: Shape, beyond: str = "", *, veiled: bool) -> str:
    veil = _veil(noun) if veiled else ""
    return f" FROM {noun.table} AS t WHERE t.project = ?{_filtered(noun, shape)}{beyond}{veil}"


Reader = Callable[[tuple[Any, ...]], tuple[Any, ...]]
"""Returns the columns of one part of a statement that answers several questions."""


@lru_cache(maxsize=512)
def union(parts: tuple[Selected, ...]) -> tuple[str, tuple[Reader, ...]]:
    """Return the statement that answers several questions at once, and what reads a row of each part.

    A row begins with the number of its part; behind it texts come before numbers, and what a part has not is NULL.
    """
    sorts = [() if part.is_exists else _are_numbers(part.noun) for part in parts]
    texts = max(some.count(False) for some in sorts)
    numbers = max(some.count(True) for some in sorts)
    # PostgreSQL takes the types of all parts from those of the first.
    slots = ["CAST(NULL AS text)"] * texts + ["CAST(NULL AS bigint)"] * numbers
    selects: list[str] = []
    readers: list[Any] = []
    for index, (part, are_numbers) in enumerate(zip(parts, sorts, strict=True)):
        free = count(1), count(1 + texts)
        places = [next(free[is_number]) for is_number in are_numbers]
        for place in places:
            slots[place - 1] = f"q.c{place}"
        rows = f"WHERE EXISTS (SELECT 1{part.rows})"
        if not part.is_exists:
            pairs = zip(_answers(part.noun), places, strict=True)
            answered = ", ".join(f"{column} AS c{place}" for column, place in pairs)
            rows = f"FROM (SELECT {answered}{part.rows}) AS q"
        selects.append(f"SELECT {', '.join([str(index), *slots])} {rows}")
        readers.append(itemgetter(*places) if places else tuple)
        slots = ["NULL"] * (texts + numbers)
    return " UNION ALL ".join(selects), tuple(readers)


@cache
def _are_numbers(noun: type[Noun]) -> tuple[bool, ...]:
    return tuple(column.sort == "int" for column in columns(noun))


def _sorted_by(ways: Ways, *, sorts: bool) -> str:
    """Return an order of rows; sorts: by expressions that no index has (orders.py)."""
    parts = ((f't."{name}"', " DESC" if down else "") for name, down in ways)
    return ", ".join(
        (f"coalesce({column}, {column})" if sorts else column) + direction
        for column, direction in parts
    )


@cache
def cells(noun: type[Noun], read: tuple[str, ...], shape: Shape, *, veiled: bool = False) -> str:
    """Return the statement that reads some columns of filtered rows by key."""
    check(noun, read)
    ways = ordering(noun, "")
    sorted_by = _sorted_by(ways, sorts=is_sorted(noun, shape, ways))
    return f"SELECT {_named(read)}{_where(noun, shape, veiled=veiled)} ORDER BY {sorted_by}"


@cache
def counts(noun: type[Noun], columns: Sequence[str], shape: Shape, *, veiled: bool = False) -> str:
    """Return the statement that counts matching rows for each value of some columns."""
    check(noun, columns)
    column_list = _named(columns)
    where = _where(noun, shape, veiled=veiled)
    return f"SELECT {column_list}, count(*){where} GROUP BY {column_list} ORDER BY {column_list}"


def _named(read: Iterable[str]) -> str:
    return ", ".join(f't."{name}"' for name in read)


def shaped(noun: type[Noun], equal: Mapping[str, Filter]) -> tuple[Shape, list[Cell]]:
    """Return the shape of a filter and its values in the order of the statement."""
    shape: list[tuple[str, int | str]] = []
    values: list[Cell] = []
    partial = noun.partial
    # In one order, so that the same filter is the same text: databases keep statements by their
    # text.
    for name in sorted(equal):
        value = equal[name]
        if isinstance(value, tuple):
            shape.append((name, len(value)))
            values.extend(value)
        elif partial is not None and name == partial.column and value in partial.words:
            shape.append((name, value))
        else:
            shape.append((name, -1))
            values.append(value)
    return tuple(shape), values


@cache
def ordering(noun: type[Noun], order: str) -> Ways:
    """Return the columns of an order, each with whether it runs downward; the key by default."""
    if not order:
        return tuple((name, False) for name in row_key(noun) or noun.key)
    ways: list[tuple[str, bool]] = []
    for part in order.split(","):
        name, _, direction = part.strip().partition(" ")
        if direction.strip().lower() not in {"", "asc", "desc"}:
            raise AssertionError(f"{part!r} is no order")
        ways.append((name, direction.strip().lower() == "desc"))
    check(noun, [name for name, _ in ways])
    return tuple(ways)


def after_values(noun: type[Noun], order: str, after: Sequence[Cell]) -> list[Cell]:
    """Return the values that `select` wants for the place it begins behind."""
    ways = ordering(noun, order)
    if len(after) != len(ways):
        raise AssertionError(f"{len(ways)} columns are ordered, {len(after)} values given")
    if _is_even(ways):
        return list(after)
    return [cell for end in range(1, len(after) + 1) for cell in after[:end]]


def _beyond(ways: Ways) -> str:
    """Return the condition for rows behind a place: row values where all columns run one way."""
    if _is_even(ways):
        # Of row values both databases see that an index leads there; of the OR below they do not.
        sign = "<" if ways[0][1] else ">"
        return f"({listed([n for n, _ in ways], 't.')}) {sign} ({', '.join('?' * len(ways))})"
    parts: list[str] = []
    for end, (name, down) in enumerate(ways):
        same = "".join(f't."{earlier}" = ? AND ' for earlier, _ in ways[:end])
        parts.append(f'({same}t."{name}" {"<" if down else ">"} ?)')
    return f"({' OR '.join(parts)})"


def _is_even(ways: Ways) -> bool:
    return len({down for _, down in ways}) == 1


def _filtered(noun: type[Noun], shape: Shape) -> str:
    check(noun, [name for name, _ in shape])
    return "".join(_condition(noun, name, form) for name, form in shape)


def _condition(noun: type[Noun], name: str, form: int | str) -> str:
    if isinstance(form, str):
        if not _is_word(noun, name, form):
            raise AssertionError(f"{form!r} is no word of an index of {noun.table}")
        return f" AND t.\"{name}\" = '{form}'"
    return f' AND t."{name}" = ?' if form < 0 else f' AND t."{name}" IN ({_marks(form)})'


def _veil(noun: type[Noun]) -> str:
    """Return the condition that a row is of no plan under way."""
    hiding = _HIDING if noun is Item else _HIDING_ITEM.format(project="t.project", about="t")
    return f" AND ({_ALL_SEEN} OR NOT EXISTS ({hiding}))"


def unhidden(about: str, project: str) -> str:
    """Return the condition that what a document is about is no item of a plan under way.

    about: what the document is called there. project: what stands for the value of the project.
    """
    return f" AND NOT EXISTS ({_HIDING_ITEM.format(project=project, about=about)})"


def _marks(many: int) -> str:
    return ", ".join("?" * many)


def _is_word(noun: type[Noun], name: str, word: str) -> bool:
    """Return whether the noun has indexes of only the rows that hold such a word."""
    partial = noun.partial
    return partial is not None and partial.column == name and word in partial.words


def keyed(noun: type[Noun]) -> str:
    """Return the condition that finds one row of a project by its key."""
    return " AND ".join(f't."{name}" = ?' for name in ("project", *row_key(noun)))


def listed(column_names: Iterable[str], prefix: str = "") -> str:
    """Return names of columns, apart by commas."""
    return ", ".join(f'{prefix}"{name}"' for name in column_names)


@cache
def _answered(noun: type[Noun]) -> str:
    """Return the columns to read, each prose as its text."""
    return ", ".join(_answers(noun))


def _answers(noun: type[Noun]) -> list[str]:
    return [
        prose(column.name) if column.is_prose else f't."{column.name}"' for column in columns(noun)
    ]


def prose(name: str) -> str:
    """Return the expression for the text of a prose column."""
    return (
        f"""CASE length(t."{name}") WHEN 0 THEN '' ELSE (SELECT x.body FROM texts AS x"""
        f""" WHERE x.project = t.project AND x.commitment = t."{name}") END"""
    )


def sequences(
    project: str, *, subject: str, action: str, before: int | None, after: int | None, limit: int
) -> tuple[str, tuple[str | int, ...]]:
    """Return the statement for the numbers of matching entries, and its values.

    The latest come first, or with `after` they come upward from there.
    """
    where = ["project = ?"]
    values: list[str | int] = [project]
    for condition, value in (
        # The second half names the entries that the index of subjects has: those that are about an item.
        ("subject = ? AND subject <> ''", subject or None),
        ("action = ?", action or None),
        ("sequence < ?", before),
        ("sequence > ?", after),
    ):
        if value is not None:
            where.append(condition)
            values.append(value)
    direction = "DESC" if after is None else "ASC"
    statement = (
        f"SELECT sequence FROM entries WHERE {' AND '.join(where)} ORDER BY sequence {direction}"
    )
    return f"{statement} LIMIT ?", (*values, limit)
