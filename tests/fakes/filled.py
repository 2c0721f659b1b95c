"""A project with a row of every noun, and what somebody does to its file behind its back."""

from __future__ import annotations

from dataclasses import replace

import apsw

from counterpoint.app import NOUNS
from counterpoint.core.model.access import TokenRequest
from counterpoint.core.model.filters import Check, Handover, Judgment, Note, Report
from counterpoint.core.model.rows import columns
from counterpoint.core.model.trust.heads import Epoch
from counterpoint.core.operations.recording.unit import recording
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from fakes.people import Person
from fakes.tampering import edited

TABLES = [
    noun
    for noun in NOUNS
    if noun.table != "profiles"
    and any(one.name not in noun.key and one.sort != "prose" for one in columns(noun))
]


def fill(studio):
    """Write rows of every kind, and entries enough for a tree of some levels."""
    ada, bob = studio.core("ada"), studio.core("bob")
    text = (
        "# Plan\n## One\n- [ ] A {#a}\n  - labels: x\n  - areas: src\n  - accept: one\n"
        "  - verify: make\n  - review: yes\n- [ ] B\n  - after: a\n"
    )
    draft = replace(ada.plans.read(text), aliases=(("slug", "it"),), attributes={"size": "small"})
    item = ada.plans.create(draft).ready[0]
    token = ada.claims.start(item).claim.token
    ada.journal.append(Note(kind="finding", body="a finding", item=item))
    ada.gates.verify(Check(item=item), token)
    studio.tree.write("src/a", "1")
    ada.gates.verify(Check(item=item), token)
    ada.reviews.submit(item, "src/a", "see", token)
    ada.tasks.finish(item, token, Report(outcome="done", summary="so"))
    bob.reviews.review(item, Judgment(approves=True, reason="good"))
    studio.core("pat", kind="human").tokens.create(TokenRequest(name="ci"))
    cyd = studio.core("cyd")
    cyd.use(Thoughts).think("plan", "a thought", task=item)
    cyd.use(Seals).seal(cyd.caller.actor.session)
    for number in range(16):
        bob.memory.put("project", "many", number)
    ada.once("k", 1, lambda: ada.memory.put("project", "n", {"v": 1}).version)
    # Before anybody has a key, since after that it takes a signature.
    with recording(studio.context(studio.system), "epoch.opened") as change:
        change.put(_plain(Epoch))
    Person(studio=studio).enrol()
    ada.sessions.hand_over(Handover(action="end", summary="bye"))
    plain_rows(studio)
    return ada, bob


def plain_rows(studio):
    """Write a row of each noun that the verbs above did not, so that every table has one."""
    with studio.view() as view:
        empty = [noun for noun in TABLES if not view.exists(noun)]
    with recording(studio.context(studio.system), "rows.written") as change:
        for noun in empty:
            change.put(_plain(noun))


def _plain(noun):
    row = {one.name: _PLAIN[one.sort] for one in columns(noun)} | {"project": "demo"}
    # Nobody has signed such an entry, so that no row of it may say so.
    return noun(**row | {name: "" for name in ("confirmed_by",) if name in row})


_PLAIN = {"text": "x", "int": 2, "list": ("x",), "prose": "", "proses": (), "hash": ""}


def tamper(studio, *statements):
    """Change the file behind the program's back."""
    connection = apsw.Connection(str(studio.database))
    connection.create_scalar_function("edited", edited, 3)
    asked = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
    guards = connection.execute(asked).fetchall()
    for name, _ in guards:
        connection.execute(f"DROP TRIGGER {name}")
    for statement, values in statements:
        connection.execute(statement, values)
        assert connection.changes()
    for _, made in guards:
        connection.execute(made)
    connection.close()
