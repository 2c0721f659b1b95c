"""Large plans of real processes: whoever makes or cancels one may be killed at any slice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Edit, Note
from counterpoint.core.model.work import Item
from counterpoint.kernel.errors import StaleVersion

pytestmark = pytest.mark.e2e

PLANNER = Path(__file__).parent / "programs" / "planner.py"


def killed(folder: Path, db: Path, method: str, times: int, *top: str) -> None:
    """Let somebody make a plan, or cancel one, who is killed when he has left a method so many times."""
    argv = [sys.executable, str(PLANNER), str(folder), str(db), method, str(times), *top]
    assert subprocess.run(argv, check=False).returncode == -9


def sound(core: Core) -> bool:
    """Answer whether the ledger verifies and every table is what it says."""
    return core.audit.verify().sound and core.audit.rebuild().differences == ()


def counted(core: Core) -> dict[str, int]:
    """Answer how many tasks there are in each state."""
    return dict(core.overview.state().counts.get("task", {}))


def test_a_large_plan_is_there_whole_or_never_seen_wherever_its_maker_is_killed(
    acts: Any, folder: Path, tmp_path: Path
) -> None:
    """What is left is hidden, others work, the ledger is sound; a minute later it is taken away."""
    db = tmp_path / "large.db"
    for step, times, seen in (("_put", 3, 0), ("_ready", 1, 0), ("_publish", 1, 451)):
        killed(folder, db, f"Stager.{step}", times)
        app = acts.open_shifted(str(folder), str(db))
        core = app.core(acts.identity("bob"))
        assert sum(counted(core).values()) == max(seen - 1, 0)
        assert len(core.overview.search("okapi", limit=9)) == min(seen, 9)
        assert sound(core)
        app.close()
    later = acts.open_shifted(str(folder), str(db), 61)
    core = later.core(acts.identity("cyd"))
    assert core.plans.tidy() == 2
    with later.ports.store.reading(later.project) as view:
        assert len(list(view.table(Item))) == 451
    assert core.audit.rebuild().differences == ()
    later.close()


def test_a_large_tree_is_closed_whole_in_the_end_wherever_whoever_cancels_it_is_killed(
    acts: Any, folder: Path, tmp_path: Path
) -> None:
    """Nothing is changed before it is durable that it will be; then nobody disturbs it, and it is carried to its end."""
    db = tmp_path / "large.db"
    app = acts.open_shifted(str(folder), str(db))
    core = app.core(acts.identity("bob"))
    markdown = "# Zoo\n" + "".join(f"- [ ] Okapi {n}\n" for n in range(450))
    made = core.plans.create(core.plans.read(markdown))
    top, first = made.root.id, made.ready[0]
    for method, times, closed in (
        ("may_thin", 1, 0),
        ("Ender.begin", 1, 0),
        ("Ender._close", 2, 200),
        ("Ender._close", 1, 300),
    ):
        killed(folder, db, method, times, top)
        assert counted(core).get("dropped", 0) == closed
        assert core.items.get(top).status == "open"
        assert sound(core)
    with pytest.raises(StaleVersion, match="is being closed with all below it"):
        core.claims.start(first)
    with pytest.raises(StaleVersion, match="is being closed with all below it"):
        core.items.edit(top, Edit(status="failed"))
    core.journal.append(Note(kind="comment", body="free to be written", item=first))
    app.close()
    later = acts.open_shifted(str(folder), str(db), 11)
    core = later.core(acts.identity("cyd"))
    assert core.items.tidy() == 1
    assert (counted(core), core.items.get(top).status) == ({"dropped": 450}, "cancelled")
    assert sound(core)
    later.close()
