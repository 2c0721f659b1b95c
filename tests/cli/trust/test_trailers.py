"""Heads in commits: the command that a person gives, the hook, and what they tell later."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from builders import git
from counterpoint.app import open_app
from counterpoint.evidence.directories import FileAnchors

MESSAGE = ("log", "-1", "--format=%B")
FOREIGN = "#!/bin/sh\nexit 0\n"


@pytest.fixture
def folder(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository, with a signed ledger and every program of the system."""
    monkeypatch.setenv("PATH", os.defpath)
    write(ledger)
    return ledger


def write(folder: Path) -> int:
    """Append an entry and have it signed; answer the size."""
    app = open_app(folder, os.environ)
    core = app.itself()
    core.memory.put("project", "n", len(core.audit.log(limit=1_000)))
    size = core.signing.sign().size
    app.close()
    return size


def commit(folder: Path, text: str = "Lay the keel", *more: str) -> str:
    """Commit, and answer the message as it was kept."""
    git(folder, "commit", "-q", "--allow-empty", "-m", text, *more)
    return git(folder, *MESSAGE)


def witnesses(said: Any) -> dict[str, int]:
    """Answer the sizes that the verification tells of those who had any head."""
    return {one["witness"]: one["size"] for one in said.json["witnesses"] if one["size"]}


def test_nothing_touches_a_commit_until_somebody_asks_for_it(call, folder):
    """Then each has the head that was signed last, until he has it taken away again."""
    size = write(folder)
    assert "Counterpoint" not in commit(folder)
    assert "commit trailers" not in witnesses(call("audit", "verify", "--json"))
    assert call("audit", "trailer", "--install").code == 0
    said = commit(folder, "Raise the mast\n\nSigned-off-by: ann <ann@example.org>")
    printed = call("audit", "trailer").out.strip()
    assert said.endswith(f"ann <ann@example.org>\n{printed}")
    # An amended commit has one head, and the later one.
    size = write(folder)
    git(folder, "commit", "-q", "--amend", "--no-edit", "--allow-empty")
    again = git(folder, *MESSAGE)
    assert (again.count("Counterpoint-Head"), f" {size} 1\n" in again) == (1, True)
    assert witnesses(call("audit", "verify", "--json"))["commit trailers"] == size
    (found,) = [
        one
        for one in call("doctor", "--json").json["checks"]
        if one["found"].startswith("commit trailers")
    ]
    assert (found["verdict"], f"{size} of {size} entries, " in found["found"]) == ("ok", True)
    assert call("audit", "trailer", "--remove").code == 0
    assert "Counterpoint" not in commit(folder, "Paint")
    assert call("audit", "trailer", "--remove").code == 1
    # As a line of his own, without any hook.
    assert printed in commit(folder, "By hand", "--trailer", printed)


def test_a_rollback_of_ledger_signer_and_ref_is_found_by_a_commit(call, folder, tmp_path):
    """Also one that goes on from there, with commits that fit; squashed away it is nothing."""
    kept = (folder / ".counterpoint", Path(os.environ["XDG_STATE_HOME"]))
    for number, one in enumerate(kept):
        shutil.copytree(one, tmp_path / str(number))
    assert call("audit", "trailer", "--install").code == 0
    write(folder)
    size = write(folder)
    commit(folder)
    for number, one in enumerate(kept):
        shutil.rmtree(one)
        shutil.copytree(tmp_path / str(number), one)
    for goes_on in (False, True):
        if goes_on:
            write(folder)
            commit(folder, "Another history")
        said = call("audit", "verify", "--quick", "--json")
        assert (said.code, witnesses(said)["commit trailers"]) == (1, size)
        assert said.json["faults"][0]["facts"]["witness"] == "commit trailers"
    git(folder, "checkout", "-q", "-b", "elsewhere", "HEAD~2")
    assert call("audit", "verify", "--quick").code == 1
    git(folder, "branch", "-q", "-D", "main")
    assert call("audit", "verify", "--quick").code == 0


def test_more_of_an_epoch_that_was_left_is_a_fault_when_it_is_pulled(
    call, folder, tmp_path, monkeypatch
):
    """A whole machine was put back: what its epoch could not know of is told once it comes from elsewhere."""
    clone = tmp_path / "elsewhere"
    git(folder, "clone", "-q", str(folder), str(clone))
    kept = (folder, Path(os.environ["XDG_STATE_HOME"]))
    for number, one in enumerate(kept):
        shutil.copytree(one, tmp_path / str(number), symlinks=True)
    assert call("audit", "trailer", "--install").code == 0
    write(folder)
    size = write(folder)
    commit(folder)
    git(clone, "pull", "-q")
    for number, one in enumerate(kept):
        shutil.rmtree(one)
        shutil.copytree(tmp_path / str(number), one, symlinks=True)
    monkeypatch.chdir(folder)
    assert call("audit", "epoch", "--reason", "The machine was restored").code == 0
    assert call("audit", "verify").code == 0
    git(folder, "pull", "-q", str(clone), "main")
    found = call("audit", "verify", "--json").json
    assert (found["sound"], found["epochs"][0]["left_size"] < size) == (False, True)
    (fault,) = found["faults"]
    assert f"its head of {size} entries is of epoch 1, which was left, but with" in fault["message"]
    assert fault["facts"] == {"witness": "commit trailers", "witnessed": size}
    assert "`counterpoint audit epoch --reason TEXT` tells of them for ever" in fault["hint"]
    there = f"commit trailers: {size} entries, and the ledger has {size - 1}, "
    assert there in call("audit", "verify").out
    # A person who has looked says so, and that stands in the ledger for ever.
    assert call("audit", "epoch", "--reason", "The machine had more, and it is lost").code == 0
    settled = call("audit", "verify", "--json").json
    assert (settled["sound"], settled["epochs"][-1]["left_size"]) == (True, size)
    assert settled["epochs"][-1]["left_epoch"] == 1


def test_who_has_only_heads_of_an_epoch_that_was_left_is_one_line_of_doctor(
    call: Any, folder: Path
) -> None:
    """With what gives each of them a later one."""
    commit(folder, "By hand", "--trailer", call("audit", "trailer").out.strip())
    app = open_app(folder, os.environ)
    assert not app.itself().witnessing.tell().faults
    app.close()
    assert call("audit", "epoch", "--reason", "A new disk").code == 0
    checks = call("doctor", "--json").json["checks"]
    (found,) = (one for one in checks if one["name"] == "witness")
    assert found["found"] == "git ref and commit trailers: the heads are of epochs that were left"
    assert (found["verdict"], "within a minute" in found["advice"]) == ("warn", True)
    assert "next commit with a trailer" in found["advice"]


def test_whoever_writes_a_commit_accuses_no_sound_ledger(call, folder):
    """A head of more entries that nobody signed, of another ledger, or no head at all."""
    real = call("audit", "trailer").out.strip()
    size = write(folder)
    grown = real.replace(f" {size - 1} 1\n", f" {size + 9} 1\n")
    assert grown != real
    commit(folder, "Forged", "--trailer", grown)
    commit(folder, "Other", "--trailer", real.replace(" led_", " led_x"))
    commit(folder, "Words\n\nCounterpoint-Head: more than anybody has")
    said = call("audit", "verify", "--json")
    assert said.code == 0
    assert "commit trailers: 1 head is signed by no key of this ledger" in said.json["remarks"]
    assert "commit trailers" not in witnesses(said)


def test_the_hook_keeps_nobody_from_committing_and_nobody_from_not_committing(call, folder):
    """Without a checkpoint, with half of one, without git's word; an empty message still ends it."""
    assert call("audit", "trailer", "--install").code == 0
    for arguments in (["-m", ""], ["-v"]):
        with pytest.raises(subprocess.CalledProcessError):
            git(folder, "-c", "core.editor=true", "commit", "--allow-empty", *arguments)
    app = open_app(folder, os.environ)
    note = FileAnchors(folder=app.checkpoints).folder / f"{app.project}.note"
    app.close()
    note.write_text("".join(note.read_text().splitlines(keepends=True)[:3]))
    assert commit(folder, "Half") == "Half"
    shutil.rmtree(folder / ".counterpoint")
    assert commit(folder, "None") == "None"


@pytest.mark.parametrize("link", [False, True])
def test_another_hook_is_neither_replaced_nor_removed(call, folder, tmp_path, link):
    """Nor one of ours to which somebody added a line, nor one behind a link; it says what to add."""
    hook = folder / ".git" / "hooks" / "commit-msg"
    hook.parent.mkdir(exist_ok=True)
    other = tmp_path / "mine" if link else hook
    other.write_text(FOREIGN)
    if link:
        hook.symlink_to(other)
    for word in ("--install", "--remove"):
        said = call("audit", "trailer", word)
        assert (said.code, "interpret-trailers" in said.err) == (1, True)
    assert other.read_text() == FOREIGN
    hook.unlink()
    assert call("audit", "trailer", "--install").code == 0
    assert call("audit", "trailer", "--install").code == 0
    with hook.open("a") as more:
        more.write("echo mine\n")
    changed = hook.read_text()
    for word in ("--install", "--remove"):
        assert call("audit", "trailer", word).code == 1
    assert hook.read_text() == changed
    hook.unlink()
    git(folder, "config", "core.hooksPath", str(tmp_path))
    assert call("audit", "trailer", "--install").code == 1
    assert not (tmp_path / "commit-msg").exists()
    assert call("audit", "trailer", "--install", "--remove").code == 2
