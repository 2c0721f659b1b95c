"""On PostgreSQL every source comes in, goes out and comes back as on SQLite."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.importing.test_recorded import SOURCES, laid

from builders import git

FORMS = {"counterpoint": "json", "beads": "beads", "markdown": "markdown"}
"""The formats that come back, by the import that reads them; each source goes out as JSON, and these in their own too."""
ASKED = ("checks", "review", "approval", "artifact", "profile")
GATED: dict[str, Any] = {
    "format": "counterpoint",
    "version": 1,
    "title": "Gated",
    "items": [
        {"id": "t-1", "title": "Hull", "checks": [["true"]], "review": True, "profile": "judge"},
        {"id": "t-2", "title": "Sail", "approval": True, "artifact": True, "needs": ["t-1"]},
    ],
}


def count(answer: Mapping[str, Any]) -> list[Any]:
    """Return what an import says of each source, without ids."""
    return [
        (
            *(source[name] for name in ("title", "items", "created", "records", "remarks", "gone")),
            *(len(source[name]) for name in ("changed", "kept", "left_out", "deadlocks")),
        )
        for source in answer["sources"]
    ]


def find_asked(call: Any, root: str) -> list[dict[str, Any]]:
    """Return what is asked of each item below a root, as an export has it."""
    items = json.loads(call("export", root, "--format", "json").out)["items"]
    return [{name: item[name] for name in ASKED if name in item} for item in items]


def walk(call: Any, folder: Path) -> dict[str, Any]:
    """Import every recorded source twice, and each of its exports under a name of its own; return what was said."""
    said: dict[str, Any] = {}
    sources = {tool: str(laid(folder, name)) for tool, (name, _) in SOURCES.items()}
    (folder / "gated.json").write_text(json.dumps(GATED))
    sources["counterpoint"] = str(folder / "gated.json")
    for tool, source in sources.items():
        made = call("import", tool, source, "--json")
        assert made.code == 0, made.err
        said[tool] = count(made.json)
        again = call("import", tool, source, "--json").json["sources"]
        assert {(one["created"], one["records"], len(one["changed"])) for one in again} == {(0, 0, 0)}  # fmt: skip
        root = made.json["sources"][0]["root"]
        for reader, form in FORMS.items():
            if reader not in {tool, "counterpoint"}:
                continue
            file = f"{tool}.{form}"
            left = call("export", root, "--format", form, "--output", file, "--json").json
            back = call("import", reader, file, "--as", f"{tool}-{form}", "--json")
            assert back.code == 0, back.err
            said[file] = (left["items"], len(left["left_out"]), count(back.json))
            if tool == reader == "counterpoint":
                said["asked"] = find_asked(call, back.json["sources"][0]["root"])
    items = call("list", "--all", "--json", "--limit", "1000").json["items"]
    said["items"] = sorted((item["title"], item["kind"], item["status"]) for item in items)
    return said


@pytest.mark.long
def test_sources_come_in_go_out_and_come_back_on_postgresql_as_on_sqlite(
    call: Any, place: Path, tmp_path: Path, databases: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same counts, remarks, titles and states, with gates."""
    walked: list[dict[str, Any]] = []
    address = databases.empty()
    for environ in ({}, {"COUNTERPOINT_DB": address}):
        folder = place if not environ else tmp_path / "other" / place.name
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q")
        monkeypatch.chdir(folder)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        assert call("init", "--yes").code == 0
        walked.append(walk(call, folder))
    databases.drop(address)
    asked = [{name: item[name] for name in ASKED if name in item} for item in GATED["items"]]
    assert walked[0]["asked"] == asked
    assert walked[0] == walked[1]
