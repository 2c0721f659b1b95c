"""Files of nodes are named by their path in the worktree, and lie in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builders import Agent
from counterpoint.core.model.work import Area
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import item_named
from counterpoint.dialects.foundry.documents.operations import Applying, Importing
from counterpoint.dialects.foundry.models.specs import PhaseDraft, TaskDraft
from counterpoint.dialects.foundry.models.tasks import NodeDraft
from counterpoint.dialects.foundry.nodes.rules.drafting import fields_of
from counterpoint.dialects.foundry.specs.operations import Specs
from counterpoint.dialects.foundry.specs.phases import Phases
from counterpoint.dialects.foundry.tasks.editing import Editing, NodeFilter, Shaping
from counterpoint.kernel.errors import InvalidInput
from fakes.spec_documents import Document, document, put, task

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


class Areas:
    """Tells in which files somebody would work."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def of(self, spec: str, node: str) -> list[str]:
        with self._context.reading() as view:
            item = item_named(view, f"{spec}/{node}", "node")
            assert item is not None
            return [one.pattern for one in view.select(Area, item=item.id)]


@pytest.fixture
def linked(repository: Path) -> Path:
    """Answer a worktree with a link within it and one that leads out."""
    (repository / "src").mkdir()
    (repository / "link").symlink_to("src")
    (repository / "out").symlink_to("/etc")
    return repository


PATHS = {
    "link/a.py": ("src/a.py", True),
    "./link//a.py": ("src/a.py", True),
    "src/a.py": ("src/a.py", True),
    "out/passwd": ("out/passwd", False),
    "link/../../x": ("link/../../x", False),
    "/etc/passwd": ("/etc/passwd", False),
}
"""What a document says; what the node has then; and whether somebody works there."""
DEMO = "demo-2026-01-02-001"
FILE = "hierarchy/task-1-1/metadata/file_path"


def _comes_in(who: Agent, path: str) -> str:
    made = document()
    put(made, FILE, path)
    who.core.use(Importing).make(made)
    return "task-1-1"


def _is_edited(who: Agent, path: str) -> str:
    who.core.use(Importing).make(document())
    wanted: Document = who.core.use(Specs).document(DEMO)
    put(wanted, FILE, path)
    assert not who.core.use(Applying).apply(DEMO, wanted).refused
    return "task-1-1"


def _is_added(who: Agent, path: str) -> str:
    who.core.use(Importing).make(document())
    wanted: Document = who.core.use(Specs).document(DEMO)
    wanted["hierarchy"]["task-1-9"] = task("New", "phase-1", path)
    wanted["hierarchy"]["phase-1"]["children"].append("task-1-9")
    assert not who.core.use(Applying).apply(DEMO, wanted).refused
    return "task-1-9"


WAYS: dict[str, Callable[[Agent, str], str]] = {
    "comes in": _comes_in,
    "is edited": _is_edited,
    "is added": _is_added,
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("way", WAYS)
def test_a_document_names_files_as_calls_do(ada: Agent, linked: Path, way: str, path: str) -> None:
    """Links followed; one that leads out is kept as it came, and nobody works there."""
    assert linked
    node = WAYS[way](ada, path)
    kept, is_area = PATHS[path]
    now = ada.core.use(Specs).document(DEMO)
    assert now["hierarchy"][node]["metadata"]["file_path"] == kept
    assert ada.core.use(Areas).of(DEMO, node) == ([kept] if is_area else [])
    # The same again, in whatever words, changes nothing.
    put(now, f"hierarchy/{node}/metadata/file_path", path)
    assert not ada.core.use(Applying).apply(DEMO, now).changes


def test_a_path_that_leads_out_is_left_for_one_that_does_not(ada: Agent, linked: Path) -> None:
    """And the other way round; nothing is left of the one before."""
    assert linked
    node = _comes_in(ada, "out/passwd")
    for path in ("link/b.py", "out/shadow", "src/c.py"):
        wanted = ada.core.use(Specs).document(DEMO)
        put(wanted, FILE, path)
        assert not ada.core.use(Applying).apply(DEMO, wanted).refused
        assert ada.core.use(Areas).of(DEMO, node) == (
            [] if path.startswith("out") else [path.replace("link", "src")]
        )
        item = ada.core.items.find(f"{DEMO}/{node}")
        assert item is not None
        assert ("file_path" in ada.core.items.attributes(item.id)) == path.startswith("out")
