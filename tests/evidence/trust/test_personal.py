"""A person's keys on this machine: private files, and nothing that somebody else could have put there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from counterpoint.core.ledger.people import sshsig
from counterpoint.evidence.trust import personal
from counterpoint.kernel.errors import Forbidden, Unavailable

WORDS = "correct horse battery"
MESSAGE = b"counterpoint/act/v1\n{}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the keys go."""
    return tmp_path / "config" / "keys"


def test_a_key_that_was_made_signs_after_its_passphrase(folder: Path) -> None:
    made = personal.make(folder, WORDS)
    (found,) = personal.held(folder)
    assert found == made
    signature = found.sign(MESSAGE, lambda prompt: WORDS)
    assert sshsig.verify(found.public_key, MESSAGE, signature)
    assert found.id == sshsig.key_id_of(found.public_key)
    with pytest.raises(Forbidden):
        found.sign(MESSAGE, lambda prompt: "another one")
    assert WORDS.encode() not in Path(found.path).read_bytes()
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_passphrase_is_not_too_short(folder: Path) -> None:
    with pytest.raises(Forbidden):
        personal.make(folder, "1234567")
    assert not folder.exists()


def test_a_file_that_others_can_read_is_not_used(folder: Path) -> None:
    made = personal.make(folder, WORDS)
    path = Path(made.path)
    path.chmod(0o640)
    with pytest.raises(Unavailable, match="yours alone"):
        made.sign(MESSAGE, lambda prompt: WORDS)
    path.chmod(0o600)
    elsewhere = folder.parent / "elsewhere"
    path.rename(elsewhere)
    with pytest.raises(Unavailable):
        made.sign(MESSAGE, lambda prompt: WORDS)
    path.symlink_to(elsewhere)
    with pytest.raises(Unavailable):
        made.sign(MESSAGE, lambda prompt: WORDS)
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(Unavailable):
        made.sign(MESSAGE, lambda prompt: WORDS)


def test_a_folder_that_others_can_write_is_not_used(folder: Path) -> None:
    personal.make(folder, WORDS)
    folder.chmod(0o770)
    with pytest.raises(Unavailable):
        personal.held(folder)
    with pytest.raises(Unavailable):
        personal.make(folder, WORDS)


def test_a_note_that_cannot_be_read_is_told(folder: Path) -> None:
    made = personal.make(folder, WORDS)
    (note,) = folder.glob("*.json")
    text = note.read_text()
    note.write_text(text.replace("passphrase", "telepathy"))
    assert personal.held(folder) == []
    for broken in ("", "{}", text.replace("ssh-ed25519 ", "ssh-ed25519")):
        note.write_text(broken)
        with pytest.raises(Unavailable, match="note"):
            personal.held(folder)
    assert made.storage == "passphrase"


def test_the_folder_is_where_settings_of_programs_are(tmp_path: Path) -> None:
    """As the specification of these folders says; a path that is not absolute does not count."""
    home = {"HOME": "/home/ann"}
    default = Path("/home/ann/.config/counterpoint/keys")
    assert personal.folder_of(home) == default
    assert personal.folder_of(home | {"XDG_CONFIG_HOME": "here"}) == default
    there = personal.folder_of(home | {"XDG_CONFIG_HOME": str(tmp_path)})
    assert there == tmp_path / "counterpoint" / "keys"
    assert personal.held(there) == []
