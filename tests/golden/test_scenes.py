"""What happens in the golden ledgers that come, before they are made: nothing of it may be left out."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from counterpoint.app import NOUNS
from counterpoint.storage.sqlite.store import open_sqlite
from fakes.golden.acts import actions
from fakes.golden.kept import seen
from fakes.golden.specs import LOOKS, runs, specs
from fakes.golden.stage import PROJECT, staged

SLICE: Final = "dialects/foundry/"


def test_the_story_of_specs_has_every_action_of_foundry(tmp_path: Path) -> None:
    """Those that only look into a transaction write nothing."""
    store = open_sqlite(tmp_path / "ledger.db", NOUNS)
    with staged(tmp_path, store) as stage:
        specs(stage)
        runs(stage)
        stage.sign()
        assert stage.system.audit.verify().faults == ()
        assert stage.system.audit.rebuild().differences == ()
    with store.reading(PROJECT) as view:
        told = seen(view)
    store.close()
    own = {action for action, file in actions().items() if file.startswith(SLICE)}
    assert own - set(told["actions"]) == LOOKS
