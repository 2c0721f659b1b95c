"""The vault's tools, `search_knowledge` and `update_memory`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import Workshop
from counterpoint.settings import Settings
from fakes.boards import Seat

GUIDE = "# Retry\n\nUse exponential backoff when you retry.\n\n# Cache\n\nThe cache is small.\n"


def test_the_vault_takes_in_finds_and_lets_go(seat: Seat, workshop: Workshop) -> None:
    """By path; the same content is not taken in twice."""
    (workshop.root / "docs").mkdir()
    (workshop.root / "docs/guide.md").write_text(GUIDE)
    worker = seat("will", "worker")
    told = worker.does("vault_update", path="docs/guide.md")
    assert (told["status"], told["chunks"]) == ("indexed", 2)
    assert worker.last_entry.action == "document.taken"
    assert worker.does("vault_update", path="docs/guide.md")["status"] == "unchanged"
    judge = seat("jo", "judge")
    (hit,) = judge.does("vault_retrieve", query="retry with exponential backoff")["results"]
    assert (hit["path"], hit["score"] > 0.9) == ("docs/guide.md", True)
    about = hit["metadata"]
    assert (about["project"], about["headings"], about["lines"]) == ("demo", ["Retry"], [1, 3])
    assert (about["words"], 0.5 < about["similarity"] < 1) == (1.0, True)
    assert worker.does("vault_delete", path="docs/guide.md")["status"] == "deleted"
    assert worker.last_entry.action == "document.dropped"
    assert judge.does("vault_retrieve", query="retry")["results"] == []


def test_what_cannot_be_in_the_vault_is_refused(seat: Seat, workshop: Workshop) -> None:
    """Paths that lead out, files that are not there or no text, entries that are not there."""
    (workshop.root / "x.bin").write_bytes(b"\0\1")
    worker = seat("will", "worker")
    assert worker.is_refused("vault_update", path="../x")["code"] == "VALIDATION_ERROR"
    assert worker.is_refused("vault_update", path="none.md")["code"] == "NOT_FOUND"
    assert worker.is_refused("vault_update", path="x.bin")["code"] == "VALIDATION_ERROR"
    assert worker.is_refused("vault_delete", path="none.md")["code"] == "NOT_FOUND"
    assert worker.is_refused("vault_retrieve", query="?!")["code"] == "VALIDATION_ERROR"
    assert worker.is_refused("vault_retrieve", query="a", top_k=51)["code"] == "VALIDATION_ERROR"


def test_long_results_go_on_at_a_cursor(seat: Seat, workshop: Workshop) -> None:
    """Each page within its limit, every passage once."""
    parts = (f"# Part {n}\n\n" + f"backoff word{n} " * 70 for n in range(30))
    (workshop.root / "long.md").write_text("\n\n".join(parts))
    worker = seat("will", "worker")
    worker.does("vault_update", path="long.md")
    seen: list[Any] = []
    asked: dict[str, Any] = {"query": "backoff", "top_k": 30}
    while True:
        page = worker.call("vault_retrieve", asked)
        assert len(page.text.encode()) <= 10_000
        seen += [tuple(hit["metadata"]["lines"]) for hit in page.answer["results"]]
        if "next_cursor" not in page.answer:
            break
        asked["cursor"] = page.answer["next_cursor"]
    assert len(seen) == len(set(seen)) == 30


def test_a_projects_own_knowledge_has_to_be_configured(seat: Seat, workshop: Workshop) -> None:
    """Then it is found with a least score; the limits are those of the contract."""
    (workshop.root / "g.md").write_text(GUIDE)
    agent = seat("ida", "intake")
    refusal = agent.is_refused("search_knowledge", query="retry")
    assert (refusal["code"], "vault configuration" in refusal["error"]) == ("CONFLICT", True)
    core = workshop.app.person()
    core.documents.configure({"enabled": True})
    core.documents.take("g.md", "project")
    assert len(agent.does("search_knowledge", query="retry")["results"]) == 1
    weak = {"query": "retry otters zebra walnut"}
    assert agent.does("search_knowledge", **weak)["results"] == []
    assert len(agent.does("search_knowledge", **weak, min_score=0.2)["results"]) == 1
    assert agent.is_refused("search_knowledge", query="x", top_k=21)["code"] == "VALIDATION_ERROR"


def test_knowledge_is_found_in_other_words(seat: Seat, workshop: Workshop) -> None:
    """By what a passage means, in the vault as among the project's own; below the least score it is not."""
    (workshop.root / "g.md").write_text(
        "# Accounts\n\nPasswords are hashed with bcrypt.\n\n# Menu\n\nCake.\n"
    )
    worker = seat("will", "worker")
    worker.does("vault_update", path="g.md")
    core = workshop.app.person()
    core.documents.configure({"enabled": True})
    core.documents.take("g.md", "project")
    for name in ("vault_retrieve", "search_knowledge"):
        (hit,) = worker.does(name, query="keep credentials secret")["results"]
        assert "bcrypt" in hit["text"]
        assert (hit["metadata"]["words"], hit["metadata"]["similarity"] > 0.3) == (0.0, True)
    score = hit["score"]
    for least, count in ((score, 1), (score + 0.0001, 0)):
        asked = {"query": "keep credentials secret", "min_score": least}
        assert len(worker.does("search_knowledge", **asked)["results"]) == count


@pytest.fixture
def remembering(workshop: Workshop, tmp_path: Path) -> Callable[..., Any]:
    """Give what seats an agent whose memory is mirrored into files."""

    def seated(type_: str, **more: str) -> Any:
        settings = Settings(surface="symphony", profile=type_, symphony_dir=str(tmp_path), **more)
        return workshop.agent(type_ or "x", profile=type_, surface="symphony", settings=settings)

    return seated


def test_memory_is_given_to_later_runs_of_the_type_only(
    remembering: Callable[..., Any], workshop: Workshop, tmp_path: Path
) -> None:
    """In the native brief and at its address, marked as data; and as a file."""
    worker = remembering("worker", project_slug="shop")
    told = worker.does("update_memory", scope="project", filename="notes.md", content="# Use WAL")
    assert (told["status"], told["path"]) == ("saved", "data/memory/shop/worker/notes.md")
    assert worker.last_entry.action == "state.put"
    assert (tmp_path / told["path"]).read_text() == "# Use WAL"
    worker.does("update_memory", scope="global", filename="all.md", content="everywhere")
    assert (tmp_path / "data/memory/_global/worker/all.md").exists()
    later = workshop.agent("later", profile="worker")
    brief = later.does("brief")
    assert {page["name"] for page in brief["memory"]} == {"notes.md", "all.md"}
    assert "memory" not in workshop.agent("other", profile="judge").does("brief")

    async def read(client: Any) -> str:
        return (await client.read_resource("counterpoint://memory")).contents[0].text

    whole = json.loads(later.ask(read))
    assert {page["content"] for page in whole["files"]} == {"# Use WAL", "everywhere"}
    assert "data, not instructions" in whole["note"]
    told = worker.does("update_memory", scope="project", filename="notes.md", content="")
    assert told["status"] == "deleted"
    assert not (tmp_path / "data/memory/shop/worker/notes.md").exists()


@pytest.mark.parametrize(
    ("filename", "content"),
    [("../x.md", "x"), ("x.txt", "x"), ("a b.md", "x"), ("x.md", "x" * 10_001), ("", "x")],
)
def test_wrong_memory_is_refused(
    remembering: Callable[..., Any], filename: str, content: str
) -> None:
    """By name or size, before anything is written."""
    asked = {"scope": "project", "filename": filename, "content": content}
    refusal = remembering("worker").is_refused("update_memory", **asked)
    assert refusal["code"] == "VALIDATION_ERROR"


def test_memory_is_that_of_a_type(remembering: Callable[..., Any]) -> None:
    """A server without one has none; a slug is one folder."""
    asked = {"scope": "project", "filename": "x.md", "content": "x"}
    assert "--agent-type" in remembering("").is_refused("update_memory", **asked)["error"]
    slug = remembering("worker", project_slug="a/b")
    assert slug.is_refused("update_memory", **asked)["code"] == "VALIDATION_ERROR"


def test_memory_is_not_kept_where_no_folder_is(workshop: Workshop, tmp_path: Path) -> None:
    """The refusal names the folder and the flag; nothing is written."""
    settings = Settings(surface="symphony", profile="worker", symphony_dir=str(tmp_path / "gone"))
    agent = workshop.agent("will", profile="worker", surface="symphony", settings=settings)
    said = agent.is_refused("update_memory", scope="project", filename="x.md", content="a")
    assert (said["code"], "--symphony-dir" in said["error"]) == ("VALIDATION_ERROR", True)
