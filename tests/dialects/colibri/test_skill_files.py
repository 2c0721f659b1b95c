"""Skills in folders: several roots, links, limits, and changes that are seen at the next look."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from builders import HandClock
from counterpoint.dialects.colibri.rules.skills import SkillReport
from counterpoint.dialects.colibri.skill_files import FOLDERS_LIMIT, SIZE_LIMIT, SkillDirectory
from counterpoint.evidence import paths
from counterpoint.evidence.local import LocalEvidence

OWN = ".agents/skills"
MIRROR = ".claude/skills"


class Tree:
    """A project with skills in it."""

    def __init__(self, root: Path) -> None:
        """Begin without a root."""
        self.root = root
        self.clock = HandClock()

    def write(self, name: str, text: str = "", *, at: str = OWN) -> Path:
        """Write a skill; without a text a sound one."""
        path = self.root / at / name / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text or sound(name), encoding="utf-8")
        return path

    def shelf(self, *more: str) -> SkillDirectory:
        """Answer a shelf of the project."""
        return SkillDirectory(self.root, LocalEvidence(clock=self.clock), self.clock, more)


def sound(name: str, description: str = "Does it.") -> str:
    """Answer the text of a skill."""
    return f"---\nname: {name}\ndescription: {description}\n---\nBody of {name}\n"


def names(report: SkillReport) -> list[str]:
    """Answer the names of the skills."""
    return [skill.name for skill in report.skills]


def skipped(report: SkillReport) -> dict[str, str]:
    """Answer what was skipped and why."""
    return {file.source: "; ".join(map(str, file.faults)) for file in report.skipped}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Give an empty project beside a place that is outside."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "outside").mkdir()
    return Tree(tmp_path / "tree")


def old(path: Path) -> None:
    """Make a file look as if it had been written long ago."""
    os.utime(path, (1, 1))


def test_a_project_without_skills_has_none(tree: Tree) -> None:
    """A root that is missing, or is a file, is nothing to report."""
    (tree.root / ".claude").mkdir()
    (tree.root / MIRROR).write_text("a file")
    report = tree.shelf().look()
    assert (report.skills, report.skipped, report.pruned) == ((), (), ())
    assert report.roots == (OWN, MIRROR)


def test_skills_are_found_in_their_folders(tree: Tree) -> None:
    """Other files and folders without a skill are passed over."""
    tree.write("b-skill")
    tree.write("a-skill")
    (tree.root / OWN / "README.md").write_text("no skill")
    (tree.root / OWN / "empty").mkdir()
    report = tree.shelf().look()
    assert names(report) == ["a-skill", "b-skill"]
    assert skipped(report) == {}
    assert report.skills[0].source == f"{OWN}/a-skill/SKILL.md"
    assert report.skills[0].body == "Body of a-skill\n"


def test_the_first_root_that_has_a_name_wins(tree: Tree, tmp_path: Path) -> None:
    """Later ones are reported, copies as copies; roots of the settings come last."""
    elsewhere = tmp_path / "outside" / "skills"
    tree.write("one")
    tree.write("one", sound("one", "Another."), at=MIRROR)
    tree.write("two", at=MIRROR)
    tree.write("two", at=str(elsewhere))
    tree.write("three", at="more")
    report = tree.shelf("more", str(elsewhere)).look()
    assert names(report) == ["one", "three", "two"]
    assert report.skills[0].description == "Does it."
    assert skipped(report) == {
        f"{MIRROR}/one/SKILL.md": f"the name 'one' is that of {OWN}/one/SKILL.md, which comes first",
        f"{elsewhere}/two/SKILL.md": f"is a copy of {MIRROR}/two/SKILL.md, which comes first",
    }
    assert report.found == 5


def test_a_broken_skill_leaves_the_name_to_a_later_root(tree: Tree) -> None:
    """What cannot be read takes no name."""
    tree.write("one", "---\nname: one\n---\n")
    tree.write("one", at=MIRROR)
    report = tree.shelf().look()
    assert report.skills[0].source == f"{MIRROR}/one/SKILL.md"
    assert skipped(report) == {f"{OWN}/one/SKILL.md": "line 1: 'description' is missing"}


def test_links_inside_of_the_project_are_followed(tree: Tree) -> None:
    """A root that is a link to another root is looked at once."""
    tree.write("one")
    tree.write("two", at="tools/skills")
    (tree.root / OWN / "two").symlink_to(tree.root / "tools/skills/two")
    (tree.root / ".claude").mkdir()
    (tree.root / MIRROR).symlink_to("../.agents/skills")
    report = tree.shelf().look()
    assert names(report) == ["one", "two"]
    assert skipped(report) == {}


def test_links_that_lead_outside_are_not_followed(tree: Tree, tmp_path: Path) -> None:
    """Neither that of a folder nor that of a file, nor one that leads nowhere."""
    secret = tmp_path / "outside" / "SKILL.md"
    secret.write_text(sound("outside"))
    tree.write("one")
    (tree.root / OWN / "outside").symlink_to(tmp_path / "outside")
    for name, target in {"file": secret, "gone": tmp_path / "gone", "loop": "SKILL.md"}.items():
        (tree.root / OWN / name).mkdir()
        (tree.root / OWN / name / "SKILL.md").symlink_to(target)
    report = tree.shelf().look()
    assert names(report) == ["one"]
    why = skipped(report)
    assert "leads outside" in why[f"{OWN}/outside/SKILL.md"]
    assert "leads outside" in why[f"{OWN}/file/SKILL.md"]
    assert "cannot be read" in why[f"{OWN}/gone/SKILL.md"]
    assert "cannot be read" in why[f"{OWN}/loop/SKILL.md"]


def test_what_is_no_text_is_skipped(tree: Tree) -> None:
    """Too long, not UTF-8, or no plain file: each with its reason."""
    tree.write("long").write_text("x" * (SIZE_LIMIT + 1))
    tree.write("bytes").write_bytes(b"---\nname: bytes\n\xff")
    (tree.root / OWN / "folder" / "SKILL.md").mkdir(parents=True)
    (tree.root / OWN / "pipe").mkdir()
    os.mkfifo(tree.root / OWN / "pipe" / "SKILL.md")
    why = skipped(tree.shelf().look())
    assert f"more than {SIZE_LIMIT} bytes" in why[f"{OWN}/long/SKILL.md"]
    assert why[f"{OWN}/bytes/SKILL.md"] == "line 3: is not UTF-8 text"
    assert "not a plain file" in why[f"{OWN}/folder/SKILL.md"]
    assert "not a plain file" in why[f"{OWN}/pipe/SKILL.md"]


def test_a_name_that_is_no_unicode_is_reported_as_text(tree: Tree) -> None:
    """A report can always be sent."""
    tree.write(os.fsdecode(b"bad\xff"), sound("bad"))
    (source,) = skipped(tree.shelf().look())
    assert source == f"{OWN}/bad\ufffd/SKILL.md"


def test_a_root_that_cannot_be_read_is_reported(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other roots are looked at all the same."""
    tree.write("one", at=MIRROR)
    listed = Path.iterdir

    def refuse(folder: Path) -> object:
        if folder == tree.root / OWN:
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", refuse)
    report = tree.shelf().look()
    assert names(report) == ["one"]
    assert skipped(report) == {OWN: "the folder cannot be read: Permission denied"}


def test_a_root_with_too_many_entries_is_reported(tree: Tree) -> None:
    """The first ones by name are looked at."""
    for number in range(FOLDERS_LIMIT + 1):
        (tree.root / OWN / f"{number:05d}").mkdir(parents=True)
    tree.write("00000")
    report = tree.shelf().look()
    assert names(report) == ["00000"]
    assert skipped(report) == {
        OWN: f"has {FOLDERS_LIMIT + 1} entries; only {FOLDERS_LIMIT} are looked at"
    }


def test_changes_are_seen_at_the_next_look(tree: Tree) -> None:
    """Added, changed, mended and taken away; a name that is gone is named."""
    shelf = tree.shelf()
    one, two = tree.write("one"), tree.write("two", "broken")
    assert names(shelf.look()) == ["one"]
    two.write_text(sound("two"))
    tree.write("three")
    assert names(shelf.look()) == ["one", "three", "two"]
    one.write_text(sound("one", "Changed."))
    assert shelf.look().skills[0].description == "Changed."
    one.unlink()
    two.write_text("broken again")
    report = shelf.look()
    assert (names(report), report.pruned) == (["three"], ("one", "two"))
    assert shelf.look().pruned == ("one", "two")
    tree.write("four")
    assert shelf.look().pruned == ()


def test_a_change_of_the_same_length_is_never_missed(tree: Tree) -> None:
    """However soon after a look it comes, and whatever the times of the file are set to."""
    shelf = tree.shelf()
    path = tree.write("one")
    for number in range(200):
        text = sound("one", f"Number {number:03d}.")
        path.write_text(text)
        old(path)
        assert shelf.look().skills[0].description == f"Number {number:03d}."


def test_a_change_is_not_missed_where_times_are_coarse(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that counts whole seconds gives two changes the same time."""
    exact = Path.stat

    def coarse(path: Path, **options: bool) -> object:
        found = exact(path, **options)
        return SimpleNamespace(
            st_dev=found.st_dev,
            st_ino=found.st_ino,
            st_size=found.st_size,
            st_mode=found.st_mode,
            st_mtime_ns=found.st_mtime_ns // 10**9 * 10**9,
            st_ctime_ns=found.st_ctime_ns // 10**9 * 10**9,
        )

    monkeypatch.setattr(Path, "stat", coarse)
    shelf = tree.shelf()
    for number in range(5):
        tree.write("one", sound("one", f"Number {number}."))
        assert shelf.look().skills[0].description == f"Number {number}."


def test_what_did_not_change_is_the_same_as_before(tree: Tree) -> None:
    """Touching a file or writing the same text again loads nothing anew."""
    shelf = tree.shelf()
    path = tree.write("one")
    first = shelf.look()
    tree.clock.pass_by(minutes=1)
    path.write_text(sound("one"))
    old(path)
    assert shelf.look() is first
    path.write_text(sound("one", "Changed."))
    assert shelf.look().skills[0].loaded_at > first.skills[0].loaded_at


def test_a_settled_file_is_not_read_again(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at many skills costs one question about each file."""
    for number in range(200):
        tree.write(f"skill-{number}")
    later = time.time_ns() + 10_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: later)
    shelf = tree.shelf()
    first = shelf.look()
    read: list[str] = []
    monkeypatch.setattr(paths, "load", lambda _root, path, _limit: read.append(path))
    begun = time.monotonic()
    assert shelf.look() is first
    assert time.monotonic() - begun < 0.5
    assert read == []


def test_many_may_look_at_once(tree: Tree) -> None:
    """Each look answers a whole report."""
    shelf = tree.shelf()
    for number in range(20):
        tree.write(f"skill-{number}")
    counts: list[int] = []
    threads = [
        threading.Thread(target=lambda: counts.append(len(shelf.look().skills))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert counts == [20] * 8
