"""`counterpoint import foundry`, and what else the command line does with files of specs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import open_app
from counterpoint.cli.checks.mirrored import has_files, look
from counterpoint.cli.main import run
from counterpoint.core.model.filters import Edit
from counterpoint.evidence.running.configuration import read_checking
from counterpoint.kernel.errors import MalformedDocument
from fakes.spec_documents import document, edited

SPEC = "demo-2026-01-02-001"


@pytest.fixture
def specs(ledger: Path) -> Path:
    """Give the folder of specs of a project, with one spec in it that is refused and one that is none."""
    folder = ledger / "specs"
    for name in ("pending", "active"):
        (folder / name).mkdir(parents=True)
    (folder / "active" / f"{SPEC}.json").write_text(json.dumps(document()))
    return folder


def path_of(specs: Path, folder: str = "active") -> Path:
    """Give the file of the spec."""
    return specs / folder / f"{SPEC}.json"


def test_specs_of_a_project_come_in(call: Any, specs: Path):
    """Once; then they are known, and their files are as the ledger has them."""
    said = call("import", "foundry", "--dry-run", "--json")
    assert said.code == 0
    assert said.json["specs"][0]["outcome"] == "imported"
    assert call("import", "foundry").out.splitlines() == [
        f"imported  {SPEC}  9 nodes",
        "Imported 1 spec of 1 file; 0 refused.",
    ]
    assert path_of(specs).read_text().startswith('{\n  "spec_id"')
    assert call("import", "foundry", "--json").json["specs"][0]["outcome"] == "known"


def test_what_is_refused_is_told_with_its_place(call: Any, specs: Path):
    """And the others come in all the same."""
    broken = edited({"spec_id": "bad-2026-01-02-001", "hierarchy/task-1-1/children": 3})
    (specs / "pending" / "bad-2026-01-02-001.json").write_text(json.dumps(broken))
    (specs / "pending" / "none.json").write_text("{")
    said = call("import", "foundry")
    assert said.code == 1
    assert "  task-1-1.children: INVALID_CHILDREN_TYPE, it is a number" in said.out
    assert "Imported 1 spec of 3 files; 2 refused." in said.out
    assert "specs/pending/none.json is not mirrored" in said.err
    told = call("import", "foundry", "--json").json["specs"]
    assert {one["spec"]: one["outcome"] for one in told} == {
        "bad-2026-01-02-001": "refused",
        "none": "refused",
        SPEC: "known",
    }


def test_what_was_mended_is_a_table_on_a_terminal(
    specs: Path, on_terminal: Any, monkeypatch: pytest.MonkeyPatch
):
    """A row for each fix, with its file, below a heading."""
    made = edited({"hierarchy/task-1-1/status": "failed"})
    path_of(specs).write_text(json.dumps(made))
    monkeypatch.setenv("COLUMNS", "200")
    out, _ = on_terminal()
    assert run(("import", "foundry")) == 0
    shown = " ".join(re.sub(r"\x1b\[\d*m", "", out.getvalue()).split())
    assert "FILE FIX WHAT" in shown
    assert f"{SPEC}.json status.normalize:task-1-1 Normalized the status of task-1-1" in shown


def test_a_file_from_elsewhere_comes_in(call: Any, ledger: Path, tmp_path: Path):
    """And so does a folder; a project without a folder of specs gets none by that."""
    made = document()
    made["hierarchy"]["task-1-1"]["status"] = "in_progress"
    file = tmp_path / "elsewhere.json"
    file.write_text(json.dumps(made))
    said = call("import", "foundry", str(file))
    assert said.code == 0
    assert "nobody holds it here" in said.out
    assert not (ledger / "specs").exists()
    assert call("import", "foundry", str(tmp_path)).out.startswith("Imported 0 specs of 0 files")
    assert call("import", "foundry", str(tmp_path / "nothing")).code == 1
    assert call("import", "foundry", "--take", "file").code == 2


def test_a_conflict_is_told_and_settled(call: Any, app: Any, specs: Path):
    """By either side; `doctor` tells of it, and a file is never overwritten before."""
    call("import", "foundry")
    file = path_of(specs)
    made = json.loads(file.read_text())
    made["hierarchy"]["task-1-1"]["title"] = "In the file"
    made["hierarchy"]["task-2-1"]["status"] = "completed"
    file.write_text(json.dumps(made))
    item = app.person().items.find(f"{SPEC}/task-1-1", "node").id
    app.person().items.edit(item, Edit(title="In the ledger"))
    assert "is not mirrored" in call("import", "foundry").err
    assert json.loads(file.read_text()) == made
    assert f"--take file {SPEC}" in call("doctor").out
    said = call("import", "foundry", "--take", "file", SPEC)
    assert said.code == 1
    assert "1 change made:\n  task-1-1 title\n1 change refused:\n  task-2-1 status" in said.out
    assert app.person().items.get(item).title == "In the file"
    assert "their files are kept" in call("doctor").out
    assert call("import", "foundry", "--take", "ledger", SPEC, "--json").json["taken"] == "ledger"
    made = json.loads(file.read_text())
    for number in range(60):
        made["hierarchy"]["task-1-1"]["metadata"][f"field_{number}"] = number
        made["hierarchy"][f"new-{number}"] = {**made["hierarchy"]["task-2-1"], "parent": "phase-2"}
        made["hierarchy"]["phase-2"]["children"].append(f"new-{number}")
    file.write_text(json.dumps(made))
    told = call("import", "foundry", "--take", "file", SPEC, "--json").json
    assert told["changed"][0] == {"node_id": "new-0", "field": ""}
    assert (len(told["changed"]), told["more"]) == (50, told["changes"] - 50)


@pytest.mark.parametrize("where", ["specs", "specs/active"])
def test_a_link_in_the_place_of_a_folder_is_told(call: Any, specs: Path, where: str):
    """Nothing is kept through it, and nobody has to guess why."""
    link = specs.parent / where
    shutil.move(link, specs.parent / "elsewhere")
    link.symlink_to(specs.parent / "elsewhere")
    told = call("doctor")
    assert f"{where} is a link: no file of a spec is kept" in told.out
    assert "their files are kept" not in told.out


def test_a_folder_of_specs_outside_of_the_project_is_told(call: Any, specs: Path, tmp_path: Path):
    """All else is examined as ever."""
    shutil.move(specs, tmp_path / "outside")
    specs.symlink_to(tmp_path / "outside")
    told = call("doctor")
    assert "lies outside the project" in told.out
    assert "Put a folder in the place of the link" in told.out
    assert "integrity" in told.out


def test_what_a_command_changes_is_in_the_file(call: Any, app: Any, specs: Path):
    """Also where no server runs."""
    call("import", "foundry")
    item = app.person().items.find(f"{SPEC}/task-1-1", "node").id
    app.person().items.edit(item, Edit(status="skipped", title="Another"))
    assert call("reopen", item).code == 0
    node = json.loads(path_of(specs).read_text())["hierarchy"]["task-1-1"]
    assert (node["title"], node["status"]) == ("Another", "pending")


def test_a_project_may_ask_for_files(call: Any, app: Any, ledger: Path):
    """Or for none, whatever folders there are."""
    file = ledger / "elsewhere.json"
    file.write_text(json.dumps(document()))
    (ledger / "counterpoint.toml").write_text("[specs]\nmirror = true\n")
    assert call("import", "foundry", str(file)).code == 0
    assert path_of(ledger / "specs", "pending").exists()
    (ledger / "counterpoint.toml").write_text("[specs]\nmirror = false\n")
    path_of(ledger / "specs", "pending").unlink()
    call("import", "foundry")
    assert not path_of(ledger / "specs", "pending").exists()


def test_the_files_are_no_evidence(call: Any, app: Any, specs: Path):
    """But an edit of one is."""
    call("import", "foundry")
    ports = app.ports
    root = specs.parent
    start = ports.evidence.snapshot(root)
    item = app.person().items.find(f"{SPEC}/task-1-1", "node").id
    app.person().items.edit(item, Edit(title="Another"))
    call("import", "foundry")
    (root / "made.txt").write_text("made")
    assert [one.path for one in ports.evidence.compare(root, start).changes] == ["made.txt"]
    path_of(specs).write_text("{}")
    changed = {one.path for one in ports.evidence.compare(root, start).changes}
    assert changed == {"made.txt", f"specs/active/{SPEC}.json"}


def test_a_reader_finds_a_whole_file_at_every_moment(app: Any, call: Any, specs: Path):
    """While the spec changes, and its file is written again and again."""
    call("import", "foundry")
    program = (
        "import json, sys, time\n"
        "from pathlib import Path\n"
        "end, count = time.monotonic() + 2, 0\n"
        "while time.monotonic() < end:\n"
        "    json.loads(Path(sys.argv[1]).read_bytes())\n"
        "    count += 1\n"
        "print(count)\n"
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", program, str(path_of(specs))], stdout=subprocess.PIPE
    )
    item = app.person().items.find(f"{SPEC}/task-1-1", "node").id
    number = 0
    while reader.poll() is None:
        number += 1
        app.person().items.edit(item, Edit(title=f"Title {number}"))
        look(app)
    out, _ = reader.communicate()
    assert reader.returncode == 0
    assert int(out) > 10
    assert number > 3


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("specs = 3", "`specs` is not a table"),
        ("[specs]\nmirror = 1", "`mirror` must be true or false"),
        ("[specs]\nmirrors = true", "`mirrors` is not known below [specs]"),
    ],
)
def test_what_is_wrong_in_the_table_is_said(ledger: Path, text: str, fault: str):
    """And nothing is kept as files then."""
    (ledger / "counterpoint.toml").write_text(text)
    with pytest.raises(MalformedDocument, match=re.escape(fault)):
        read_checking(ledger)
    opened = open_app(ledger, os.environ)
    assert not has_files(opened)
    look(opened)
    assert not (ledger / "specs").exists()
    opened.close()
