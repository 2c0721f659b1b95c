"""Learnings among a hundred thousand, and an issue with a thousand findings."""

from __future__ import annotations

import random
import time
from itertools import cycle
from typing import Any

import apsw
from _measure import Row, alternate, asked, caller, folder, median, opened, publish, row

from counterpoint.app import App
from counterpoint.core.model.filters import Note
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import surface
from counterpoint.dialects.symphony.nouns import IssueDraft, LearningDraft
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.learnings import note_of
from counterpoint.storage.sqlite.search import expression

_FINDINGS = 1_000
_AN_ENTRY = 1_000
_WORDS = 20_000
_QUERIES = 50
_CANDIDATES = 100
_BARE = "SELECT rowid FROM search WHERE search MATCH ? ORDER BY bm25(search, 4.0, 1.0) LIMIT ?"
_PAGE = """
SELECT id, title, tags, body, details, created_at FROM records
WHERE project = ? AND item = ? AND kind = 'finding' ORDER BY number LIMIT 201
"""


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=100)
    size = 100_000 if wanted.full else 30_000
    rows: list[Row] = []
    with folder() as place, opened(place) as (app,):
        issue = _fill(app, size)
        core, dialect = caller(app), surface("symphony")

        def ask(tool: str, **arguments: Any) -> None:
            answer = dialect.invoke(Call(core=core(), secret=b"secret"), tool, arguments)
            if answer.is_error:
                raise RuntimeError(answer.text)

        queries = _asked(3)
        ours, bare = cycle(queries), cycle([expression(query.split()) for query in queries])
        connection = apsw.Connection(str(app.database), flags=apsw.SQLITE_OPEN_READONLY)
        found = alternate(
            {
                "search": lambda: ask("search_learnings", query=next(ours)),
                "bare search": lambda: connection.execute(
                    _BARE, (next(bare), _CANDIDATES)
                ).fetchall(),
                "issue": lambda: ask("get_issue", issue_id=issue),
                "page": lambda: connection.execute(_PAGE, (app.project, issue)).fetchall(),
                "status": lambda: ask("get_issue_status", issue_id=issue),
            },
            wanted.rounds,
            clock=time.process_time,
        )
        connection.close()
    rows.append(
        row(
            f"search_learnings, three words, {size:,} learnings",
            found["search"],
            floor=median(found["bare search"]),
            beside=f"the {_CANDIDATES} best of bare FTS5",
        )
    )
    rows.append(row("  of which the promise", found["search"], most=25))
    rows.append(
        row(
            f"get_issue, a page of {_FINDINGS:,} findings",
            found["issue"],
            floor=median(found["page"]),
            beside="the bare rows",
        )
    )
    rows.append(row("  of which the promise", found["issue"], most=25))
    rows.append(row(f"get_issue_status, {_FINDINGS:,} findings", found["status"], most=25))
    publish("symphony", rows)


def _fill(app: App, size: int) -> str:
    """Write learnings on a hundred issues, and findings on one more; answer its id."""
    core = caller(app)()
    issues = [core.use(Issues).open(IssueDraft(title=f"Issue {place}")).id for place in range(100)]
    chance = random.Random(1)
    weights = [1 / rank for rank in range(10, _WORDS + 10)]
    stock = iter(chance.choices([f"w{n:x}" for n in range(_WORDS)], weights, k=size * 40))
    context = Context(ports=app.ports, caller=core.caller)
    journal = Journal(context)

    def write(notes: list[Note]) -> None:
        with joined(context), recording(context, "learning.recorded") as change:
            session = change.open_session()
            for note in notes:
                change.put(journal.draft(change, note, session, ()))

    for start in range(0, size, _AN_ENTRY):
        write(
            [
                note_of(
                    LearningDraft(
                        item=issues[place % 100],
                        pattern=" ".join(next(stock) for _ in range(15)),
                        context=" ".join(next(stock) for _ in range(25)),
                        applies_to=("src/",),
                    )
                )
                for place in range(start, start + _AN_ENTRY)
            ]
        )
    last = (
        core.use(Issues).open(IssueDraft(title="The one with findings", description="x" * 500)).id
    )
    text = "What was found, in some words. " * 10
    write([Note(kind="finding", item=last, body=text, tags=("bug",)) for _ in range(_FINDINGS)])
    return last


def _asked(many: int) -> list[str]:
    """Answer queries of words that are neither the most frequent nor the rarest."""
    chance = random.Random(2)
    return [
        " ".join(f"w{chance.randrange(20, 2000):x}" for _ in range(many)) for _ in range(_QUERIES)
    ]


if __name__ == "__main__":
    main()
