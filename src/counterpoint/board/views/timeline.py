"""The page of the timeline: a lane for each agent with claims, checks and handoffs.

Rules: (1) A bar is one claim, from the entry that made it to the one that ended it; what began before or has not ended reaches to the edge.
(2) Claims of one agent that overlap stand below each other. (3) A page reads the `ENTRIES` entries before the end of its time, and says where these are not all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from counterpoint.board.pages import Answer
from counterpoint.core.ledger.derived import fill_columns
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.journal import Receipt, Verdict
from counterpoint.core.model.sessions import Claim, Handoff
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.sessions import find_sequence_at
from counterpoint.kernel.clock import stamp

ENTRIES: Final = 2_000
LANES: Final = 24
EVENTS: Final = 60
SPANS: Final = {"1h": 1, "6h": 6, "1d": 24, "1w": 168, "30d": 720}
"""How many hours each zoom shows."""
WIDTH: Final = 1_000
_ROW: Final = 16
_TICKS: Final = 8
_DRAWN: Final = tuple(f'"t":"{noun.table}"'.encode() for noun in (Claim, Receipt, Verdict, Handoff))
_YEARS: Final = range(1971, 9_000)
"""Far enough from both ends of what can be counted."""


@dataclass(slots=True)
class Bar:
    """What an agent held. start, end: in seconds from the left edge. row: its place in the lane."""

    item: str
    token: int
    start: float
    end: float
    row: int = 0
    is_taken_over: bool = False
    has_ended: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at one time. kind: `check`, `failed`, `takeover`, `handoff`, `approve` or `reject`."""

    kind: str
    second: float
    time: str
    item: str
    sequence: int


@dataclass(slots=True)
class Lane:
    """What one agent did. y, height: its place in the drawing."""

    agent: str
    bars: list[Bar] = field(default_factory=list[Bar])
    marks: list[Mark] = field(default_factory=list[Mark])
    y: int = 0
    height: int = 0


@dataclass(slots=True)
class Timeline:
    """What a page draws: the lanes between two times. cut_at: from when on, where it is not all of the time."""

    lanes: list[Lane]
    since: datetime
    until: datetime
    cut_at: str = ""

    @property
    def seconds(self) -> float:
        """How long it is."""
        return (self.until - self.since).total_seconds()

    @property
    def height(self) -> int:
        """How high the drawing is."""
        return 28 + sum(lane.height for lane in self.lanes)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Times along the edge: the share of the width, and what it is called."""
        has_days = self.seconds > 2 * 86_400
        step = self.seconds / _TICKS
        times = [(n / _TICKS, self.since + timedelta(seconds=n * step)) for n in range(_TICKS)]
        return [(x, f"{time:%d %b}" if has_days else f"{time:%H:%M}") for x, time in times]

    @property
    def events(self) -> list[tuple[str, Mark]]:
        """What happened at one time, the latest first, with whose it is."""
        marks = [(lane.agent, mark) for lane in self.lanes for mark in lane.marks]
        return sorted(marks, key=lambda pair: -pair[1].sequence)


class TimelineReads(Verbs):
    """Reads of what happened in a time."""

    def entries(self, since: str, until: str) -> tuple[list[Entry], str]:
        """Return what the last `ENTRIES` entries of a time draw, and from when on they are, if that is not all of it.

        Those from before the time are among them, for what was held when it began.
        """
        with self._context.reading() as view:
            size = view.head().size
            last = find_sequence_at(view, f"{until}~", size)
            start = max(0, last - ENTRIES)
            first = find_sequence_at(view, since, size)
            # To look for the tables is faster than to parse.
            entries = [
                Entry.from_bytes(data)
                for data in view.entries(start, last)
                if any(table in data for table in _DRAWN)
            ]
            cut = Entry.from_bytes(next(view.entries(start, start + 1))) if start > first else None
        return entries, cut.time if cut else ""

    def held(self) -> list[Claim]:
        """Return what is held now."""
        with self._context.reading() as view:
            return view.select(Claim, state="live")

    def last_time(self) -> str:
        """Return when the last entry was written."""
        with self._context.reading() as view:
            return view.head().time


class _Drawing:
    """The bars and marks of entries, as they come."""

    def __init__(self, since: datetime, until: datetime) -> None:
        self._since, self._until = since, until
        self._lanes: dict[str, Lane] = {}
        self._open: dict[str, tuple[Lane, Bar]] = {}

    def second(self, time: str) -> float:
        """Return how far from the left edge a time is, within the drawing."""
        seconds = (datetime.fromisoformat(time) - self._since).total_seconds()
        return min(max(0.0, seconds), (self._until - self._since).total_seconds())

    def lane(self, agent: str) -> Lane:
        """Return the lane of an agent."""
        return self._lanes.setdefault(agent, Lane(agent))

    def add(self, entry: Entry) -> None:
        """Draw what an entry wrote."""
        for row in entry.rows:
            if row.values is None:
                continue
            if row.table == Claim.table:
                columns = fill_columns(Claim, row.key, row.values, entry.origin, whole=row.whole)
                self._claim(entry, str(row.key.get("item", "")), columns or {})
            elif row.whole and (kind := _kind_of(row.table, row.values)):
                item = str(row.values.get("item", "") or entry.subject)
                self._mark(kind, entry, entry.actor.name, item)

    def _mark(self, kind: str, entry: Entry, agent: str, item: str) -> None:
        if entry.time < stamp(self._since):
            return
        mark = Mark(kind, self.second(entry.time), entry.time, item, entry.sequence)
        self.lane(agent).marks.append(mark)

    def _claim(self, entry: Entry, item: str, columns: Any) -> None:
        at = self.second(entry.time)
        before = self._open.get(item)
        token, state = columns.get("token"), columns.get("state")
        agent = str(columns.get("agent", entry.actor.name))
        is_new = isinstance(token, int) and (before is None or before[1].token != token)
        if is_new and state != "released":
            if before is not None:
                before[1].end, before[1].has_ended = at, True
                before[1].is_taken_over = True
                self._mark("takeover", entry, agent, item)
            bar = Bar(item, int(token), at, at)
            self.lane(agent).bars.append(bar)
            self._open[item] = self.lane(agent), bar
        elif state == "released":
            # Of what began before the drawing only the end is seen.
            lane, bar = before or (self.lane(agent), Bar(item, 0, 0.0, at))
            if before is None:
                lane.bars.append(bar)
            bar.end, bar.has_ended = at, True
            self._open.pop(item, None)

    def close(self, held: Sequence[Claim], now: str) -> list[Lane]:
        """End what is still held at the right edge or now; return the lanes, laid out."""
        edge = self.second(now)
        for claim in held:
            if claim.item not in self._open and claim.claimed_at < stamp(self._until):
                lane, bar = (
                    self.lane(claim.agent),
                    Bar(claim.item, claim.token, self.second(claim.claimed_at), edge),
                )
                lane.bars.append(bar)
        for _, bar in self._open.values():
            bar.end = edge
        for lane in self._lanes.values():
            lane.bars = [bar for bar in lane.bars if bar.end > 0]
        drawn = (lane for lane in self._lanes.values() if lane.bars or lane.marks)
        lanes = sorted(drawn, key=lambda lane: lane.agent)
        y = 24
        for lane in lanes[:LANES]:
            rows: list[float] = []
            for bar in sorted(lane.bars, key=lambda bar: bar.start):
                free = (row for row, end in enumerate(rows) if end <= bar.start)
                bar.row = next(free, len(rows))
                rows[bar.row : bar.row + 1] = [bar.end]
            lane.y, lane.height = y, 14 + _ROW * max(1, len(rows))
            y += lane.height
        return lanes


def _kind_of(table: str, values: Any) -> str:
    """Return what a row that was made is drawn as; empty for nothing."""
    if table == Receipt.table:
        return "check" if not values.get("exit_code") and not values.get("timed_out") else "failed"
    if table == Verdict.table:
        return str(values.get("decision", ""))
    return "handoff" if table == Handoff.table else ""


def draw(
    entries: Sequence[Entry], held: Sequence[Claim], since: datetime, until: datetime, now: str
) -> Timeline:
    """Return the timeline of some entries."""
    drawing = _Drawing(since, until)
    for entry in entries:
        drawing.add(entry)
    return Timeline(drawing.close(held, now), since, until)


def _zooms(zoom: str) -> Iterator[tuple[str, str]]:
    """Return the next smaller and the next larger zoom, with what they are called."""
    names = list(SPANS)
    position = names.index(zoom)
    if position:
        yield names[position - 1], "Zoom in"
    if position + 1 < len(names):
        yield names[position + 1], "Zoom out"


def read_timeline(answer: Answer) -> dict[str, Any]:
    """Return the lanes of the time that the query names, by default the day up to now."""
    reads = answer.core.use(TimelineReads)
    zoom = answer.query.get("zoom", "")
    zoom = zoom if zoom in SPANS else "1d"
    length = timedelta(hours=SPANS[zoom])
    present = datetime.fromisoformat(answer.now)
    until = _parse_time(answer.query.get("until", "")) or present
    since = until - length
    entries, cut_at = reads.entries(stamp(since), stamp(until))
    now = min(answer.now, stamp(until))
    timeline = draw(entries, reads.held(), since, until, now)
    timeline.cut_at = cut_at
    has_later = until < present
    return {
        "timeline": timeline,
        "drawn": timeline.lanes[:LANES],
        "zoom": zoom,
        "zooms": list(_zooms(zoom)),
        "until": stamp(until) if has_later else "",
        "earlier": stamp(until - length / 2),
        "later": stamp(until + length / 2) if until + length / 2 < present else "",
        "has_later": has_later,
        "last_time": reads.last_time(),
        "width": WIDTH,
        "row_height": _ROW,
        "most_events": EVENTS,
    }


def _parse_time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=time.tzinfo or UTC) if time.year in _YEARS else None
    except ValueError:
        return None
