"""What a brief costs after much work: steps of the database are counted, never seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import apsw
import pytest

from counterpoint.app import App, open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Note
from counterpoint.dialects.call import Call
from counterpoint.dialects.native.tools.overview import briefing

MORE = 1.3
"""How many times the steps of before; the depth of trees is in it."""


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Give the steps of the database's machine, by statement, of every connection."""
    seen: dict[str, int] = {}

    def profile(event: Any) -> None:
        text = " ".join(str(event["sql"]).split())
        status = cast("dict[str, int]", event["stmt_status"])
        seen[text] = seen.get(text, 0) + status["SQLITE_STMTSTATUS_VM_STEP"]

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, profile)  # pyright: ignore[reportUnknownMemberType]  its stub leaves the dictionary open

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, watch])
    return seen


def test_a_brief_costs_the_same_after_much_work_as_after_little(
    tmp_path: Path, steps: dict[str, int]
) -> None:
    """Whatever kinds of notes there are, open blockers beside many that were resolved, with and without an item."""
    (tmp_path / "tree").mkdir()
    app = open_app(tmp_path / "tree", {}, db=str(tmp_path / "ledger.db"), project="demo")
    core = app.core(app.agent())
    item = core.plans.create(core.plans.read("# Orchard\n- [ ] Walnut\n- [ ] Pear\n")).ready[0]
    for kind in ("decision", "blocker", "finding", "learning"):
        core.journal.append(Note(kind=kind, body="said first"))
    few = _cost(app, core, item, steps)
    for number in range(150):
        core.journal.append(Note(kind="comment", body=f"a walnut {number}"))
        core.journal.append(Note(kind="finding", body=f"a pear {number}", item=item))
        told = core.journal.append(Note(kind="blocker", body=f"no water {number}"))
        core.journal.resolve(told.id, "rain")
    many = _cost(app, core, item, steps)
    app.close()
    grown = {
        text: (few.get(text), cost)
        for text, cost in many.items()
        if cost > 3 * few.get(text, 0) + 100
    }
    assert not grown
    assert sum(many.values()) <= MORE * sum(few.values())


@pytest.mark.parametrize(("is_held", "most"), [(False, 12), (True, 16)])
def test_a_brief_is_one_transaction_of_few_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_held: bool, most: int
) -> None:
    statements: list[str] = []

    def trace(_cursor: apsw.Cursor, text: str, _values: object) -> bool:
        statements.append(text)
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, watch])
    (tmp_path / "tree").mkdir()
    app = open_app(tmp_path / "tree", {}, db=str(tmp_path / "ledger.db"), project="demo")
    core = app.core(app.agent())
    item = core.plans.create(core.plans.read("# Orchard\n- [ ] Walnut\n- [ ] Pear\n")).ready[0]
    if is_held:
        core.claims.start(item)
    call = Call(core=core, secret=lambda: b"secret", settings=app.settings)
    briefing(call, "", 6000)
    statements.clear()
    briefing(call, "", 6000)
    app.close()
    assert statements.count("BEGIN") == 1
    assert len(statements) <= most, "\n".join(statements)


def _cost(app: App, core: Core, item: str, steps: dict[str, int]) -> dict[str, int]:
    call = Call(core=core, secret=lambda: b"secret", settings=app.settings)
    briefing(call, item, 6000)
    steps.clear()
    briefing(call, item, 6000)
    briefing(call, "", 6000)
    return dict(steps)
