"""How rows look at the command line: JSON with stable keys, or few words."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, cast

from counterpoint.cli.output import one_line
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.access import Principal
from counterpoint.core.model.answers import Ahead
from counterpoint.core.model.journal import (
    Outcome,
    Receipt,
    Record,
    StartPoint,
    Submission,
    Verdict,
)
from counterpoint.core.model.presence import Departure
from counterpoint.core.model.rows import Noun
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Gate, Item
from counterpoint.kernel.canonical import Json, load
from counterpoint.kernel.clock import Timestamp, moment
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.plurals import agree, counted

_INSIDE: Final = frozenset({"project", "number", "lifecycle", "held", "position", "seconds"})
"""Fields that only the core needs."""

_JSON_TEXTS: Final[Mapping[type[Any], str]] = {
    Record: "details",
    Outcome: "evidence",
    Receipt: "files",
    StartPoint: "files",
    Submission: "details",
}
"""Nouns with a field whose text is itself JSON."""

NO_WORK: Final = (
    "There is no work yet: `counterpoint plan FILE` makes some, `counterpoint add TITLE` one item."
)
"""What a list says that nobody has narrowed and that is empty."""

_PIECES: Final = ("task", "issue")
"""The kinds of items that are pieces of work, in place of wholes that hold them."""
_HEADLINES: Final = ("title", "summary", "reason", "body", "output", "status")


def present(noun: Noun) -> dict[str, Json]:
    """Return a row as JSON: its fields by name, a text that is JSON as what it holds."""
    fields = dataclasses.fields(cast("Any", noun))
    fields_by_name = {
        f.name: _value(getattr(noun, f.name)) for f in fields if f.name not in _INSIDE
    }
    if isinstance(noun, Item):
        fields_by_name["description"] = fields_by_name.pop("body")
    packed = _JSON_TEXTS.get(type(noun))
    if packed is not None:
        fields_by_name[packed] = _unpacked(fields_by_name[packed])
    return fields_by_name


def present_briefly(item: Item) -> dict[str, Json]:
    """Return an item as JSON without its text."""
    fields = present(item)
    del fields["description"]
    return fields


def present_principal(principal: Principal | None) -> Json:
    """Return who stands behind an actor as JSON; None if nothing attests that."""
    return {"strength": principal.strength, "id": principal.id} if principal else None


def present_entry(entry: Entry) -> dict[str, Json]:
    """Return an entry as JSON, without the rows it wrote."""
    return {
        "sequence": entry.sequence,
        "time": entry.time,
        "actor": {
            "kind": entry.actor.kind,
            "name": entry.actor.name,
            "profile": entry.actor.profile,
            "session": entry.actor.session,
            "principal": present_principal(entry.actor.principal),
        },
        "action": entry.action,
        "subject": entry.subject,
        "facts": dict(entry.facts),
        "previous": entry.previous,
    }


def _value(value: object) -> Json:
    return list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value


def _unpacked(text: Json) -> Json:
    if not isinstance(text, str) or not text:
        return {}
    try:
        return load(text)
    except InvalidInput:
        return text  # redacted


def headline(noun: Noun) -> str:
    """Return the one line that says most about a row."""
    texts = (str(getattr(noun, name, "")) for name in _HEADLINES)
    return one_line(next(filter(None, texts), ""))


def status_line(item: Item) -> str:
    """Return in a line how an item stands."""
    return f"{item.id} is {item.status}: {one_line(item.title)}"


def own_work(judged: Verdict | Gate) -> str:
    """Return the mark of a verdict or waiver whose author judged own work; empty for any other."""
    return " (self)" if judged.independence == "self" else ""


def key_of(noun: Noun) -> str:
    """Return what finds a row inside its project."""
    return "/".join(str(getattr(noun, name)) for name in type(noun).key[1:])


def span(start: Timestamp, end: str) -> str:
    """Return how long it is from one moment to another: `42 s`, `12 min`, `3 h 05 min`, `9 d`."""
    return in_words(int(abs((moment(end) - moment(start)).total_seconds())))


def in_words(seconds: int) -> str:
    """Return so many seconds as people say it."""
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days > 1:
        return f"{days} d"
    if hours > 1:
        return f"{hours} h {minutes % 60:02} min"
    return f"{minutes} min" if minutes > 1 else f"{seconds} s"


def task_counts(counts: Mapping[str, Mapping[str, int]]) -> Mapping[str, int]:
    """Return how many pieces of work are in each category: tasks and issues, else whatever there is.

    counts: how many items of each kind are in each category.
    """
    kinds = [kind for kind in _PIECES if counts.get(kind)] or list(counts)
    total = Counter[str]()
    for kind in kinds:
        total.update(counts[kind])
    return total


def progress_in_words(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Return how far the work is: `3 of 21 tasks done, 2 in work, 1 in review`."""
    tasks = task_counts(counts)
    total = sum(tasks.values()) - tasks["dropped"]
    if not total:
        return "nothing is planned"
    parts = [
        f"{tasks['done']} of {counted(total, 'task')} done",
        *([f"{tasks['active']} in work"] if tasks["active"] else []),
        *([f"{tasks['review']} in review"] if tasks["review"] else []),
    ]
    return ", ".join(parts)


def nothing_open(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Return what a list of open work says that is empty."""
    tasks = task_counts(counts)
    if not sum(tasks.values()):
        return NO_WORK
    done = tasks["done"]
    every = "The only task is done." if done == 1 else f"All {done:,} tasks are done."
    ended = every if done else "No task is open."
    dropped = f" {agree(tasks['dropped'], 'task', 'was')} dropped." if tasks["dropped"] else ""
    return f"{ended}{dropped} `counterpoint list --all` shows them."


def closed_in_words(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Return how many items a list of open work leaves out, with their verb; empty for none."""
    done = sum(categories.get("done", 0) for categories in counts.values())
    dropped = sum(categories.get("dropped", 0) for categories in counts.values())
    parts = [
        *([f"{done:,} done"] if done else []),
        *([f"{dropped:,} dropped"] if dropped else []),
    ]
    verb = "is" if done + dropped == 1 else "are"
    return f"{' and '.join(parts)} {verb}" if parts else ""


def ahead_in_words(ahead: Ahead) -> str:
    """Return how far a ledger is ahead of the clock, and since when."""
    after = f", which came after {ahead.after}" if ahead.after else ""
    return f"the ledger's time is {in_words(ahead.seconds)} ahead since entry {ahead.since}{after}"


def lease(claim: Claim, now: Timestamp, departure: Departure | None = None) -> str:
    """Return in words how long a claim still holds; departure: that its holder is gone."""
    if not claim.is_held:
        return claim.state
    if departure is not None and claim.is_live(now):
        free = "free for others"
        if now < departure.free_at:
            free += f" in {span(now, min(departure.free_at, claim.leased_until))}"
        return f"gone for {span(departure.since, now)}, {free}"
    time_left = span(now, claim.leased_until)
    if claim.is_ahead(now):
        return "given by a clock that was ahead, free for others"
    return f"{time_left} left" if claim.is_live(now) else f"ran out {time_left} ago"
