"""Files of specs that a release of foundry, or somebody, left damaged."""

from __future__ import annotations

import io
import json
import re
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.cli.main import run
from counterpoint.core.model.filters import Edit
from counterpoint.dialects.foundry.files.mirror import Mirroring
from fakes.damaged_documents import LEFT, damaged, left_behind
from fakes.long_forms import share
from fakes.spec_documents import document, edited

SPEC = "demo-2026-01-02-001"
FILES = share(300)
FIXED = [
    "date.normalize:generated",
    "status.normalize:spec",
    "status.normalize:task-1-1",
    "node.normalize_type:task-1-2",
    "status.normalize:task-1-2",
    "status.normalize:task-2-1",
    "metadata.fix_invalid_verification_type:verify-2-1",
    "hierarchy.align:spec-root->phase-1",
    "hierarchy.attach_orphans:task-9-1",
    "dependency.sync_bidirectional:phase-1-phase-2",
    "dependency.sync_bidirectional:task-1-1-task-2-1",
    "counts.recalculate",
    "hierarchy.set_aside_children:phase-2",
    "dependency.set_aside:task-2-1",
    "journal.normalize:2",
    "journal.normalize:3",
]


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command came to."""

    returncode: int
    stdout: str
    stderr: str


class Project:
    """A repository with files of specs, the command line in it, and an agent that speaks foundry."""

    def __init__(self, workshop: Workshop, foundry: Agent) -> None:
        """Take the repository of a workshop."""
        self.root = workshop.root
        self.foundry = foundry

    def put(self, made: Any, spec: str = "", folder: str = "active") -> Path:
        """Put a document, or any text, where the file of a spec lies."""
        file = self.root / "specs" / folder / f"{spec or made['spec_id']}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(made if isinstance(made, str) else json.dumps(made))
        return file

    def runs(self, *words: str) -> Ran:
        """Run a command in this process, in the folder of the repository."""
        out, err = io.StringIO(), io.StringIO()
        with chdir(self.root), redirect_stdout(out), redirect_stderr(err):
            code = run(words)
        assert "Traceback" not in err.getvalue()
        return Ran(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())

    def document(self, spec: str) -> Any:
        """Read a spec through its tool, page by page."""
        text, cursor = "", None
        while True:
            more = {"cursor": cursor} if cursor else {}
            told = self.foundry.does("spec", action="get", spec_id=spec, **more)
            text += told["data"]["spec"]
            cursor = told["meta"].get("pagination", {}).get("cursor")
            if not cursor:
                return json.loads(text)

    def validated(self, spec: str) -> Any:
        """Answer what is wrong with a spec, as its tool tells it."""
        return self.foundry.does("spec", action="validate", spec_id=spec)["data"]


@pytest.fixture
def project(workshop: Workshop, foundry: Agent) -> Project:
    """Answer a repository for files of specs."""
    return Project(workshop, foundry)


def test_a_file_that_a_release_left_comes_in_mended(project: Project):
    file = project.put(left_behind())
    done = project.runs("import", "foundry")
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert lines[0] == f"imported  {LEFT}  10 nodes  16 things mended"
    heading = next(place for place, line in enumerate(lines) if line.startswith("FILE"))
    assert lines[heading].split() == ["FILE", "FIX", "WHAT"]
    rows = [line.split(maxsplit=2) for line in lines[heading + 1 : -1]]
    assert [row[:2] for row in rows] == [[file.name, one] for one in FIXED]
    assert rows[4][2] == "Normalized the status of task-1-2: 'failed' is pending"
    assert lines[-1] == "Imported 1 spec of 1 file; 0 refused."
    assert json.loads(file.read_text()) == project.document(LEFT)
    assert not [one for one in project.validated(LEFT)["diagnostics"] if one["auto_fixable"]]
    assert project.runs("import", "foundry").stdout.startswith(f"known     {LEFT}\n")


def test_what_has_no_place_in_a_spec_is_kept_with_it(project: Project):
    """In the metadata of its node, of its entry, or of the whole."""
    project.put(left_behind())
    assert project.runs("import", "foundry").returncode == 0
    made = project.document(LEFT)
    kept = {name: one["metadata"].get("as_imported") for name, one in made["hierarchy"].items()}
    assert {name: one for name, one in kept.items() if one} == {
        "phase-2": {"children": ["task-2-7"]},
        "task-1-2": {"status": "failed", "type": "epic"},
        "task-2-1": {"dependencies": {"blocked_by": ["task-1-9"]}},
        "task-9-1": {"parent": "phase-9"},
        "verify-2-1": {"verification_type": "auto"},
    }
    nodes = made["hierarchy"]
    assert nodes["task-1-1"]["status"] == "completed"
    assert nodes["task-1-2"]["metadata"]["failure_reason"] == "no network"
    assert nodes["task-2-1"]["dependencies"]["blocked_by"] == ["task-1-1"]
    assert (nodes["phase-2"]["total_tasks"], nodes["phase-2"]["completed_tasks"]) == (3, 0)
    entries = project.foundry.does("journal", action="list", spec_id=LEFT)["data"]["entries"]
    told = [(one["entry_type"], one["title"], one.get("metadata")) for one in entries]
    assert told[::-1] == [
        ("session", "Session started", None),
        ("step", "Step pause: success", None),
        ("status_change", "Task completed", {"as_imported": {"task_id": "task-1-9"}}),
        ("note", "a line that somebody wrote by hand", None),
    ]
    only = project.foundry.does("journal", action="list", spec_id=LEFT, entry_type="step")
    assert only["data"]["count"] == 1


def test_the_fixes_are_told_as_json(project: Project):
    """All of them, with what is remarked beside; a look at it writes nothing."""
    file = project.put(left_behind())
    before = file.read_bytes()
    told = json.loads(project.runs("import", "foundry", "--dry-run", "--json").stdout)
    assert [one["id"] for one in told["specs"][0]["fixes"]] == FIXED
    assert set(told["specs"][0]["fixes"][0]) == {"id", "description", "category"}
    runs = "entries of the journal that runs have written come in as they are"
    assert told["specs"][0]["remarks"] == [f"{runs}: 1 of the type session, 1 of the type step"]
    assert file.read_bytes() == before
    many = document(1, 30)
    for number in range(1, 31):
        many["hierarchy"][f"task-1-{number}"]["status"] = "todo"
    project.put(many)
    shown = project.runs("import", "foundry").stdout
    assert re.search("10 more +`--json` tells all of them", shown)


def test_who_names_a_spec_first_is_told_what_was_mended(project: Project):
    """And the entry tells it for good."""
    project.put(left_behind())
    told = project.foundry.does("spec", action="stats", spec_id=LEFT)
    assert "date.normalize:generated" in told["meta"]["warnings"][0]
    assert "warnings" not in project.foundry.does("spec", action="stats", spec_id=LEFT)["meta"]
    log = project.foundry.core.audit.log(limit=20)
    facts = next(one.facts for one in log if one.action == "spec.imported")
    assert (facts["fixes"], facts["fixed"]) == (16, FIXED)


def test_an_edit_is_mended_on_its_way_in(project: Project):
    """By the same rules; what the ledger has already is no damage, and a title that was changed comes in."""
    made = left_behind()
    file = project.put(made)
    project.runs("import", "foundry")
    made = json.loads(file.read_text())
    nodes = made["hierarchy"]
    nodes["task-2-1"] |= {"status": "failed", "title": "Edited"}
    nodes["task-2-2"]["dependencies"]["depends"] = ["task-9-9"]
    nodes["phase-1"]["total_tasks"] = 77
    made["journal"].append({"title": "By hand", "author": "eve", "content": "c"})
    file.write_text(json.dumps(made))
    done = project.runs("import", "foundry")
    rows = [line.split(maxsplit=2)[:2] for line in done.stdout.splitlines() if LEFT in line]
    assert rows[1:] == [
        [file.name, one]
        for one in (
            "status.normalize:task-2-1",
            "counts.recalculate",
            "dependency.set_aside:task-2-2",
        )
    ]
    now = project.document(LEFT)
    assert now["hierarchy"]["task-2-1"]["title"] == "Edited"
    assert now["hierarchy"]["task-2-1"]["metadata"]["as_imported"] == {
        "dependencies": {"blocked_by": ["task-1-9"]},
        "status": "failed",
    }
    assert now["hierarchy"]["task-2-2"]["metadata"]["as_imported"] == {
        "dependencies": {"depends": ["task-9-9"]}
    }
    assert (now["journal"][-1]["author"], now["journal"][-1]["metadata"]) == (
        "file",
        {"as_imported": {"author": "eve"}},
    )
    assert len(now["journal"]) == 5
    assert json.loads(file.read_text()) == now
    told = json.loads(project.runs("import", "foundry", "--json").stdout)
    assert "edits" not in told


def test_a_file_that_is_taken_is_mended_too(project: Project):
    """With what was mended told, for people and programs."""
    file = project.put(document())
    project.runs("import", "foundry")
    made = json.loads(file.read_text())
    made["hierarchy"]["task-1-1"] |= {"title": "In the file", "status": "missing"}
    made["hierarchy"]["task-1-2"]["type"] = "epic"
    del made["last_updated"]
    file.write_text(json.dumps(made))
    assert "is not mirrored" in project.runs("import", "foundry").stderr
    assert json.loads(file.read_text()) == made
    done = project.runs("import", "foundry", "--take", "file", SPEC)
    rows = [line.split(maxsplit=2)[:2] for line in done.stdout.splitlines() if ".json" in line]
    assert rows == [
        [file.name, "status.normalize:task-1-1"],
        [file.name, "node.normalize_type:task-1-2"],
        [file.name, "counts.recalculate"],
    ]
    assert project.document(SPEC)["hierarchy"]["task-1-1"]["title"] == "In the file"
    file.write_text(json.dumps(made))
    told = json.loads(project.runs("import", "foundry", "--take", "file", SPEC, "--json").stdout)
    assert [one["id"] for one in told["fixes"]] == [row[1] for row in rows]


def test_an_edit_beside_what_was_odd_before_changes_nothing_else(project: Project, ada: Agent):
    """A verification of an odd type that the ledger has is not the file's to mend."""
    file = project.put(document())
    project.runs("import", "foundry")
    verify = ada.core.items.find(f"{SPEC}/verify-1-1", "node")
    assert verify is not None
    ada.core.items.edit(verify.id, Edit(attributes={"verification_type": "auto"}))
    project.foundry.core.use(Mirroring).round()
    made = json.loads(file.read_text())
    made["hierarchy"]["task-1-1"]["title"] = "Edited"
    file.write_text(json.dumps(made))
    project.foundry.core.use(Mirroring).round()
    nodes = project.document(SPEC)["hierarchy"]
    assert nodes["task-1-1"]["title"] == "Edited"
    assert nodes["verify-1-1"]["metadata"]["verification_type"] == "auto"
    assert "as_imported" not in nodes["verify-1-1"]["metadata"]


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    (
        {
            "hierarchy/spec-root/children": ["phase-1"],
            "hierarchy/phase-2/parent": "task-2-2",
            "hierarchy/task-2-2/children": ["phase-2"],
        },
        "CYCLE_DETECTED",
        "phase-2",
    ),
    (
        {"hierarchy/phase-1/dependencies": {"blocked_by": ["task-1-1"]}},
        "CIRCULAR_DEPENDENCY",
        "phase-1.dependencies",
    ),
    ({"hierarchy/task-1-1/metadata": "x"}, "INVALID_METADATA_TYPE", "task-1-1.metadata"),
    ({"hierarchy/task-1-1/children": "x"}, "INVALID_CHILDREN_TYPE", "task-1-1.children"),
    (
        {"hierarchy/task-1-1/dependencies": {"blocks": "task-1-2"}},
        "INVALID_DEPENDENCY_FIELD",
        "task-1-1.dependencies.blocks",
    ),
    ({"hierarchy/task-1-1": 3}, "INVALID_NODE_STRUCTURE", "task-1-1"),
    ({"journal": "x"}, "INVALID_JOURNAL_TYPE", "journal"),
    ({"metadata": "x"}, "INVALID_METADATA_TYPE", "metadata"),
    ({"metadata/x": "x" * 70_000}, "FIELD_TOO_LONG", "metadata.x"),
    ({"spec_id": "../x"}, "INVALID_SPEC_ID_FORMAT", "spec_id"),
]


@pytest.mark.parametrize(("changes", "code", "location"), REFUSED)
def test_what_nobody_can_mend_is_refused_with_its_place(
    project: Project, changes: dict[str, Any], code: str, location: str
):
    """By every call about it; `validate` tells it as a report, with all else that is wrong."""
    file = project.put(edited({**changes, "hierarchy/task-2-1/status": "todo"}), SPEC)
    before = file.read_bytes()
    report = project.validated(SPEC)
    assert (report["is_valid"], report["file"]) == (False, f"specs/active/{SPEC}.json")
    first = report["diagnostics"][0]
    assert (first["code"], first["location"]) == (code, location)
    assert (first["severity"], first["auto_fixable"]) == ("error", False)
    others = {(one["code"], one["location"], one["auto_fixable"]) for one in report["diagnostics"]}
    assert ("INVALID_STATUS", "task-2-1.status", True) in others
    assert report["error_count"] == sum(one["severity"] == "error" for one in report["diagnostics"])
    for action in ("fix", "validate-fix", "stats"):
        refused = project.foundry.is_refused("spec", action=action, spec_id=SPEC)
        faults = refused["data"]["details"]["faults"]
        assert (code, location) in [(one["code"], one["location"]) for one in faults]
    assert file.read_bytes() == before
    done = project.runs("import", "foundry")
    assert done.returncode == 1
    assert f"  {location}: {code}, " in done.stdout


@pytest.mark.parametrize(
    ("text", "code", "location"),
    [
        ('{\n"a": }', "INVALID_JSON", "line 2"),
        ("[]", "INVALID_STRUCTURE", "line 1"),
        ('{"spec_id": 1, "spec_id": 2}', "DUPLICATE_KEY", "spec_id"),
        (json.dumps(edited({"hierarchy/task-1-1/x": json.loads("[" * 40 + "]" * 40)})), "EXCESSIVE_NESTING", "task-1-1"),
        (json.dumps(edited({"metadata/x": json.loads("[" * 40 + "]" * 40)})), "EXCESSIVE_NESTING", "metadata"),
    ],
)  # fmt: skip
def test_what_is_no_document_is_refused_with_its_place(
    project: Project, text: str, code: str, location: str
):
    """As far as there is one."""
    project.put(text, SPEC)
    report = project.validated(SPEC)
    first = report["diagnostics"][0]
    assert (first["code"], first["location"]) == (code, location)
    assert len(report["diagnostics"]) == 1
    assert f"  {location}: {code}, " in project.runs("import", "foundry").stdout


def test_a_spec_of_two_files_is_told(project: Project):
    """Which one counts is for a person to say."""
    project.put(document())
    project.put(document(), folder="pending")
    report = project.validated(SPEC)
    assert report["diagnostics"][0]["code"] == "DUPLICATE_ENTRY"
    refused = project.foundry.is_refused("spec", action="fix", spec_id=SPEC)
    assert refused["data"]["details"]["faults"][0]["location"] == f"specs/active/{SPEC}.json"


def test_validating_tells_of_an_edit_that_was_refused(project: Project):
    """Beside what is wrong with the spec; with the file mended it does no more."""
    file = project.put(document())
    project.runs("import", "foundry")
    before = file.read_text()
    file.write_text(before.replace('"children": []', '"children": "x"', 1))
    project.foundry.core.use(Mirroring).round()
    report = project.validated(SPEC)
    assert (report["is_valid"], report["file"]) == (True, f"specs/active/{SPEC}.json")
    assert report["file_faults"][0]["code"] == "INVALID_CHILDREN_TYPE"
    file.write_text(before)
    project.foundry.core.use(Mirroring).round()
    assert "file" not in project.validated(SPEC)
    assert project.foundry.is_refused("spec", action="validate", spec_id="gone-2026-01-02-001")


@pytest.mark.faults
def test_damaged_files_come_in_whole_or_are_refused(project: Project):
    """There is no third: each refusal has codes and places, nothing that a file said is lost, and nothing fixable is left."""
    made = [damaged(seed) for seed in range(FILES)]
    for number, (one, _) in enumerate(made):
        project.put(one, f"damaged-2026-01-02-{number:03}")
    done = project.runs("import", "foundry", "--json")
    told = {Path(one["path"]).stem: one for one in json.loads(done.stdout)["specs"]}
    assert len(told) == FILES
    imported = 0
    for number, (one, marks) in enumerate(made):
        spec = f"damaged-2026-01-02-{number:03}"
        outcome = told[spec]
        if outcome["outcome"] == "refused":
            assert outcome["faults"]
            assert all(fault["code"] and fault["location"] for fault in outcome["faults"]), outcome
            assert project.foundry.core.items.find(spec, "spec") is None
            continue
        imported += 1
        report = project.validated(spec)
        assert not [fault for fault in report["diagnostics"] if fault["auto_fixable"]], spec
        found = project.document(spec)
        assert set(found["hierarchy"]) == set(one["hierarchy"]), spec
        text = json.dumps(found)
        assert [mark for mark in marks if mark in json.dumps(one) and mark not in text] == [], spec
    assert FILES // 3 < imported < FILES
