"""What the programs of these tests do through the core: writes that can be repeated under a key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from counterpoint.app import App, Identity, open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Note, Report
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import surface
from counterpoint.kernel.clock import Timestamp, stamp


class ShiftedClock:
    """A clock that goes ahead, or behind, by so many seconds."""

    def __init__(self, seconds: float) -> None:
        """Set the clock."""
        self._by = timedelta(seconds=seconds)

    def now(self) -> Timestamp:
        """Answer the present moment, shifted."""
        return stamp(datetime.now(UTC) + self._by)


def open_shifted(folder: str, db: str, seconds: float = 0) -> App:
    """Open the product on a database, with a clock that may be wrong."""
    app = open_app(Path(folder), {}, db=db, project="siege")
    # Of a database on a server too: there the clock of the machine has no say.
    app.clock = app.time = ShiftedClock(seconds)
    return app


def identity(name: str, session: str = "") -> Identity:
    """Answer an agent that has the same session in each of its lives, unless one is given."""
    return Identity(kind="agent", name=name, session=session or f"ses_{name.ljust(26, 'a')}")


def _plan(core: Core, title: str) -> Any:
    made = core.plans.create(core.plans.read(f"# Plan of {title}\n- [ ] {title}\n"))
    return {"root": made.root.id, "task": made.ready[0]}


def _start(core: Core, item: str) -> Any:
    started = core.claims.start(item)
    return {"token": started.claim.token, "taken_over_from": started.taken_over_from}


def _finish(core: Core, item: str, token: int, summary: str) -> Any:
    finished = core.tasks.finish(item, token, Report(outcome="done", summary=summary))
    return {"status": finished.item.status}


def _note(core: Core, text: str, item: str = "") -> Any:
    return {"record": core.journal.append(Note(kind="finding", body=text, item=item)).id}


def _remember(core: Core, name: str) -> Any:
    return {"version": core.memory.put("project", name, name).version}


def _complete(core: Core, spec: str, task: str) -> Any:
    given = {"action": "complete", "spec_id": spec, "task_id": task, "completion_note": task}
    call = Call(core=core, secret=lambda: b"race")
    answer = surface("foundry").invoke(call, "task", given).answer
    return answer["data"] if answer["success"] else {"refused": answer["error"]}


VERBS: dict[str, Callable[..., Any]] = {
    "plan": _plan,
    "complete": _complete,
    "start": _start,
    "finish": _finish,
    "note": _note,
    "remember": _remember,
}


def perform(core: Core, asked: dict[str, Any]) -> Any:
    """Do what is asked: `verb`, its arguments in `with`, and under `key` if there is one."""
    verb, arguments = VERBS[asked["verb"]], asked["with"]
    if "key" not in asked:
        return verb(core, **arguments)
    request = {"verb": asked["verb"], "with": arguments}
    return core.once(asked["key"], request, lambda: verb(core, **arguments))
