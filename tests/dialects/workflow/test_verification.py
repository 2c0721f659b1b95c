"""The verification of an ended task: scope, order, and which warnings stand or stay silent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.model.evidence import FileChange
from counterpoint.core.model.journal import Receipt
from counterpoint.core.model.rows import Prose
from counterpoint.core.rules.areas import covers
from counterpoint.dialects.workflow.rules import (
    Ended,
    files_changed,
    is_code,
    names_packages,
    verify_task,
)
from counterpoint.kernel.clock import Timestamp

NOON = Timestamp("2026-01-02T12:00:00.000Z")
PATHS = st.lists(st.sampled_from(["a", "b", "src", "srcs", "x.py"]), min_size=1, max_size=3).map(
    "/".join
)
KINDS = st.sampled_from(["added", "modified", "deleted"])


@st.composite
def comparisons(draw):
    """Answer changes in which no path is named twice, as a comparison promises."""
    names = draw(st.lists(PATHS, unique=True, max_size=8))
    changes = []
    while names:
        path = names.pop()
        if names and draw(st.booleans()):
            changes.append(FileChange(path=path, kind="renamed", previous=names.pop()))
        else:
            changes.append(FileChange(path=path, kind=draw(KINDS)))
    return changes


def modified(*paths):
    """Answer changes that modified each path."""
    return [FileChange(path=path, kind="modified") for path in paths]


def receipt(program, exit_code, number=1, *, timed_out=False):
    """Answer the receipt of a command."""
    return Receipt(
        project="p", id=f"p-c{number}", number=number, item="p-1", gate="", session="s", agent="a",
        argv=(program, "-q"), folder=".", command_sha256="0" * 64, exit_code=exit_code,
        timed_out=timed_out, output=Prose(""), output_sha256="0" * 64, output_bytes=0,
        method="git", commit="c", files=Prose(""), started_at=NOON, ended_at=NOON,
        program=Prose(""), program_sha256="", sandbox="none", terms=(), signature="",
    )  # fmt: skip


def warned(*changes, **known):
    """Answer the warnings of a task that changed these paths."""
    return list(verify_task(Ended(changes=modified(*changes), **known)).warnings)


@given(changes=comparisons(), areas=st.lists(PATHS, max_size=3))
def test_the_unexpected_files_are_those_that_no_area_covers(changes, areas):
    """In the order added, modified, deleted; the scope matches if there are none."""
    found = verify_task(Ended(changes=changes, areas=areas))
    files = files_changed(changes)
    beyond = [path for path in files.paths if not any(covers(area, path) for area in areas)]
    assert list(found.unexpected_files) == (beyond if areas else [])
    assert found.scope_match == (not found.unexpected_files)
    assert any("outside the areas" in line for line in found.warnings) == (not found.scope_match)


@given(changes=comparisons())
def test_every_path_is_filed_once_and_none_is_lost(changes):
    """A rename gives its previous path to the deleted and its present one to the added."""
    files = files_changed(changes)
    named = [name for change in changes for name in (change.path, change.previous) if name]
    assert sorted(files.paths) == sorted(named)
    assert all(
        list(paths) == sorted(paths) for paths in (files.added, files.modified, files.deleted)
    )
    for change in changes:
        if change.kind == "renamed":
            assert change.path in files.added
            assert change.previous in files.deleted
        else:
            assert change.path in getattr(files, change.kind)


def test_files_that_change_names_are_modified():
    """Each of two renames in a circle leaves a file at the other's place."""
    circle = [
        FileChange(path="a", kind="renamed", previous="b"),
        FileChange(path="b", kind="renamed", previous="a"),
    ]
    files = files_changed(circle)
    assert (files.added, files.modified, files.deleted) == ((), ("a", "b"), ())


def test_an_area_is_a_folder_or_a_pattern_and_never_a_part_of_a_word():
    """`auth` neither covers src/author.ts nor src/auth; letters count as they are."""
    changes = modified("auth/login.ts", "src/author.ts", "AUTH/x.ts", "docs/a/b.md")
    found = verify_task(Ended(changes=changes, areas=["auth", "docs/**/*.md"]))
    assert found.unexpected_files == ("AUTH/x.ts", "src/author.ts")
    assert found.warnings[0] == (
        "2 of 4 changed files lie outside the areas (auth, docs/**/*.md): AUTH/x.ts, src/author.ts"
    )


def test_both_ends_of_a_rename_must_lie_in_the_areas():
    """Moving a file into the areas takes it away from where it was."""
    moved = [FileChange(path="src/a", kind="renamed", previous="lib/a")]
    assert verify_task(Ended(changes=moved, areas=["src"])).unexpected_files == ("lib/a",)


@pytest.mark.parametrize(
    ("tests", "path", "runs", "words"),
    [
        ("failed", "a.md", [], "tests failed"),
        ("failed", "a.py", [0], "tests failed"),
        ("not_run", "a.py", [], "tests were not run, though code changed: a.py"),
        ("not_run", "a.py", [0], "tests were not run, though code changed: a.py"),
        ("not_run", "a.md", [], ""),
        ("passed", "a.md", [], "are said to have passed, but the server ran no command"),
        ("passed", "a.py", [], "are said to have passed, but the server ran no command"),
        ("passed", "a.py", [0], ""),
        ("passed", "a.py", [1, 0], ""),
        ("passed", "a.py", [0, 1], "the last run of `pytest -q` gave 1 (p-c1)"),
        ("failed", "a.py", [1], "tests failed"),
        ("", "a.py", [], "nothing says whether tests were run, though code changed: a.py"),
        ("", "a.py", [0], ""),
        ("", "a.py", [2], "the last run of `pytest -q` gave 2 (p-c0)"),
        ("", "a.md", [], ""),
    ],
)
def test_what_is_told_of_tests_is_held_against_what_ran(tests, path, runs, words):
    """One warning where words, code and receipts do not agree, none where they do."""
    receipts = [receipt("pytest", code, number) for number, code in enumerate(runs)]
    found = warned(path, tests=tests, receipts=receipts)
    assert len(found) == bool(words), found
    assert all(words in line for line in found)


def test_each_command_is_judged_by_its_last_run():
    """A linter that passed does not cover for tests that were ended at their limit."""
    receipts = [receipt("ruff", 0), receipt("pytest", -9, 2, timed_out=True)]
    assert warned("a.py", tests="passed", receipts=receipts) == [
        "the last run of `pytest -q` was ended, as it ran too long (p-c2)"
    ]


@pytest.mark.parametrize(
    ("changes", "is_silent"),
    [
        (modified("uv.lock"), True),
        (modified("sub/package.json", "a.md"), True),
        ([FileChange(path="requirements-dev.txt", kind="added")], True),
        ([FileChange(path="new/Cargo.toml", kind="renamed", previous="Cargo.toml")], True),
        ([FileChange(path="yarn.lock", kind="deleted")], False),
        (modified("a.md"), False),
        ([], False),
    ],
)
def test_packages_that_no_package_file_shows_are_a_warning(changes, is_silent):
    found = verify_task(Ended(changes=changes, packages_added=["left-pad", "ruff"])).warnings
    assert found == (
        ()
        if is_silent
        else (
            (
                "packages are said to be added (left-pad, ruff), but no manifest or lock file changed",
            )
        )
    )


def test_a_manifest_that_changed_without_a_word_is_no_warning():
    """Versions move for other reasons too."""
    assert warned("pyproject.toml", "Cargo.lock") == []


@pytest.mark.parametrize(
    "path",
    [
        "package.json", "web/package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lockb",
        "requirements.txt", "requirements-test.txt", "requirements/run.txt", "pyproject.toml",
        "uv.lock", "poetry.lock", "Pipfile", "Pipfile.lock", "Cargo.toml", "crates/x/Cargo.lock",
        "go.mod", "go.sum", "Gemfile", "Gemfile.lock", "composer.json", "composer.lock", "pom.xml",
        "app/build.gradle.kts", "gradle/libs.versions.toml", "src/App.csproj", "mix.lock",
    ],
)  # fmt: skip
def test_the_usual_package_files_are_known(path):
    """Manifests and lock files of the common systems, in any folder."""
    assert names_packages(path)


@pytest.mark.parametrize(
    "path", ["mypackage.json", "package.json/x", "docs/requirements.md", "requirements", "lock"]
)
def test_names_that_only_resemble_a_package_file_are_none(path):
    """The whole last name counts."""
    assert not names_packages(path)


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("a.py", True),
        ("web/App.TSX", True),
        ("README.md", False),
        ("py", False),
        ("v1.py/notes", False),
        ("LICENSE", False),
    ],
)
def test_code_is_told_by_the_ending(path, is_one):
    """In any case of letters, of the last name only."""
    assert is_code(path) == is_one


def test_open_sub_tasks_are_named():
    """Five by name, the rest as a count."""
    names = [f"t{number}" for number in range(7)]
    assert warned(open_subtasks=names) == [
        "sub-tasks are still open: t0, t1, t2, t3, t4 and 2 more"
    ]


def test_files_in_the_areas_of_another_running_task_are_named():
    others = {"p-7": ("src/api",), "p-8": ("src/**/x.md", "docs"), "p-9": ("srcs",), "p-10": ()}
    assert warned("src/api/x.md", "docs/y.md", others=others) == [
        "files in the areas of p-7, which is running, changed: src/api/x.md",
        "files in the areas of p-8, which is running, changed: docs/y.md, src/api/x.md",
    ]


def test_the_warnings_of_the_measurement_come_first_and_none_twice():
    """A reader sees first what could not be measured."""
    assert warned("b", measuring=("gone", "gone"), areas=["a"])[:2] == [
        "gone",
        "1 of 1 changed file lies outside the areas (a): b",
    ]


def test_a_task_with_nothing_to_say_has_no_warning():
    found = verify_task(Ended(changes=[]))
    assert (found.scope_match, found.unexpected_files, found.warnings) == (True, (), ())
