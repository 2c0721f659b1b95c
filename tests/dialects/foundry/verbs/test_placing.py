"""Files of nodes are named by their path in the worktree, and lie in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builders import Agent
from counterpoint.dialects.foundry.nouns.specs import PhaseDraft, TaskDraft
from counterpoint.dialects.foundry.nouns.tasks import NodeDraft
from counterpoint.dialects.foundry.rules.importing.drafting import fields_of
from counterpoint.dialects.foundry.verbs.phases import Phases
from counterpoint.dialects.foundry.verbs.specs import Specs
from counterpoint.dialects.foundry.verbs.tasks.editing import Editing, NodeFilter
from counterpoint.dialects.foundry.verbs.tasks.shaping import Shaping
from counterpoint.kernel.errors import InvalidInput

SPEC = "export-2026-01-02-001"
ACTS: dict[str, Callable[[Agent, str], object]] = {
    "added": lambda who, path: who.core.use(Shaping).add(
        SPEC, NodeDraft(parent="phase-1", title="Write", type="task", file_path=path)
    ),
    "edited": lambda who, path: who.core.use(Editing).edit(SPEC, "task-1-1", {"file_path": path}),
    "one of many": lambda who, path: who.core.use(Editing).edit_many(
        SPEC, NodeFilter(pattern="task-1-2"), {"file_path": path}
    ),
    "of a phase": lambda who, path: who.core.use(Phases).add(
        SPEC, PhaseDraft(title="More", tasks=(TaskDraft(title="Write", file_path=path),))
    ),
}


@pytest.mark.parametrize("act", ACTS)
def test_no_file_of_a_node_lies_outside_of_the_worktree(
    ada: Agent, root: str, repository: Path, act: str
) -> None:
    """By its words, or by a link; nothing is made of it. One that is not there yet may be named."""
    assert root
    (repository / "link").symlink_to("/etc")
    for path in ("/etc/passwd", "../../x", "..", "link/x", "src/\0", "src/../../x"):
        with pytest.raises(InvalidInput):
            ACTS[act](ada, path)
    ACTS[act](ada, "src/../src//new.py")
    document = str(ada.core.use(Specs).document(SPEC))
    assert "'file_path': 'src/new.py'" in document


@pytest.mark.parametrize(
    ("path", "is_area"), [("src/a.py", True), ("/etc/passwd", False), ("a/../../x", False)]
)
def test_an_imported_path_that_leads_out_is_kept_and_is_no_area(
    path: str, *, is_area: bool
) -> None:
    """So nothing is lost, and nobody works there."""
    found = fields_of("task-1-1", {"title": "Write"}, {"file_path": path}, "task")
    assert found.areas == ((path,) if is_area else ())
    assert found.attributes.get("file_path") == (None if is_area else path)
