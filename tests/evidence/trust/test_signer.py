"""The signer: what it signs, what it remembers, and who may touch its state."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from builders import HandClock
from counterpoint.core.ledger.checkpoint import verify as verify_checkpoint
from counterpoint.core.ledger.merkle import consistency_proof, leaf_hash, nodes_of, root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.model.trust.heads import Growth
from counterpoint.evidence.trust.folders import state_folder
from counterpoint.evidence.trust.signer import FileSigner
from counterpoint.kernel.errors import Forbidden, ForkRefused, SignerAway, StaleVersion, Unavailable

LEDGER = "led_one"
ORIGIN = "counterpoint/demo"


@pytest.fixture
def signer(tmp_path: Path) -> FileSigner:
    """A signer without state."""
    return opened(tmp_path)


def opened(folder: Path, place: str = "/one/ledger.db") -> FileSigner:
    """Answer a signer with the state of a folder, as another process would."""
    return FileSigner(root=folder / "signer", place=place, clock=HandClock())


def leaves(size: int, story: str = "one") -> list[bytes]:
    """Answer the leaves of a history."""
    return [leaf_hash(f"{story} {number}".encode()) for number in range(size)]


def growth(size: int, before: int = 0, story: str = "one", epoch: int = 1) -> Growth:
    """Answer a head with the proof that it extends its own beginning."""
    found = leaves(size, story)
    return Growth(
        origin=ORIGIN,
        size=size,
        root=root_of(found),
        before=before,
        proof=tuple(consistency_proof(before, size, nodes_of(found))),
        epoch=epoch,
    )


def test_a_head_that_extends_the_last_is_signed_and_remembered(signer, tmp_path):
    """Its checkpoint verifies with the key, and another process knows it."""
    signer.sign_head(LEDGER, growth(3))
    made = signer.sign_head(LEDGER, growth(8, 3))
    key = VerifierKey(name=ORIGIN, public_key=signer.public_key(LEDGER))
    assert verify_checkpoint(made.note, key).root == root_of(leaves(8))
    other = opened(tmp_path)
    assert other.last(LEDGER) == made
    assert other.known_key(LEDGER) == key.public_key
    assert other.signed(LEDGER, 3).size == 3
    assert other.signed(LEDGER, 4) is None


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (growth(2), "cut off"),
        (growth(5, 5, "two"), "written anew"),
        (growth(9, 5, "two"), "written anew"),
        (growth(9, 5, epoch=2), "epoch 2"),
    ],
    ids=["shorter", "as long", "longer", "another epoch"],
)
def test_another_history_is_refused(signer, asked, words):
    """Whatever proof comes with it; the last head stays the last."""
    last = signer.sign_head(LEDGER, growth(5))
    with pytest.raises(ForkRefused, match=words):
        signer.sign_head(LEDGER, asked)
    assert signer.last(LEDGER) == last


def test_a_proof_from_another_head_than_the_last_is_to_be_made_again(signer):
    signer.sign_head(LEDGER, growth(5))
    with pytest.raises(StaleVersion):
        signer.sign_head(LEDGER, growth(9, 3))


def test_an_epoch_goes_on_from_another_history_and_never_back(signer):
    """Every later checkpoint says the epoch; what was signed before it does not count in it."""
    signer.sign_head(LEDGER, growth(5))
    made = signer.open_epoch(LEDGER, growth(2, 0, "two", epoch=2))
    assert "\nepoch 2\n" in made.note
    with pytest.raises(ForkRefused):
        signer.open_epoch(LEDGER, growth(9, epoch=2))
    with pytest.raises(ForkRefused):
        signer.sign_head(LEDGER, growth(9, 2))
    assert signer.signed(LEDGER, 5) is None
    signer.sign_head(LEDGER, growth(3, 2, "two", epoch=2))


def test_another_ledger_in_the_place_of_one_that_was_signed_is_refused(signer, tmp_path):
    """Whoever takes a ledger away and begins another; an epoch says that it was on purpose."""
    assert signer.placed() == {}
    signer.sign_head(LEDGER, growth(5))
    assert signer.placed() == {"counterpoint/demo": LEDGER}
    with pytest.raises(ForkRefused, match="another ledger"):
        signer.sign_head("led_two", growth(1))
    opened(tmp_path, "/two/ledger.db").sign_head("led_two", growth(1))
    signer.open_epoch("led_two", growth(1, epoch=2))
    with pytest.raises(ForkRefused, match="another ledger"):
        signer.sign_head(LEDGER, growth(6, 5))


def test_every_ledger_of_a_database_is_remembered_until_an_epoch_says_that_it_is_gone(
    signer: FileSigner, tmp_path: Path
) -> None:
    """By its name; a head that is no epoch says nothing, and other databases are others."""
    other = "counterpoint/other"
    signer.sign_head(LEDGER, growth(5))
    signer.sign_head("led_two", replace(growth(1), origin=other, gone=(ORIGIN,)))
    elsewhere = opened(tmp_path, "/two/ledger.db")
    elsewhere.sign_head("led_three", growth(1))
    assert signer.placed() == {ORIGIN: LEDGER, other: "led_two"}
    signer.open_epoch("led_two", replace(growth(2, epoch=2), origin=other, gone=(ORIGIN, "no")))
    assert signer.placed() == {other: "led_two"}
    assert elsewhere.placed() == {ORIGIN: "led_three"}
    # Put back on purpose, it is remembered again.
    signer.sign_head(LEDGER, growth(6, 5))
    assert opened(tmp_path).placed() == {other: "led_two", ORIGIN: LEDGER}
    lines = (tmp_path / "signer" / "places").read_bytes().splitlines()
    signer.sign_head(LEDGER, growth(7, 6))
    assert (tmp_path / "signer" / "places").read_bytes().splitlines() == lines


def test_a_head_is_never_signed_as_a_statement(signer):
    """Receipts and seals of sessions are; a text that reads as the head of a ledger is not."""
    assert len(signer.sign(LEDGER, b"counterpoint receipt v1\n{}")) == 64
    assert len(signer.sign(LEDGER, b"counterpoint/demo/ses_1\n3\nAAAA\n")) == 64
    with pytest.raises(Forbidden):
        signer.sign(LEDGER, b"counterpoint/demo\n9\nAAAA\n")


@pytest.mark.parametrize("part", ["", "signer", f"signer/{LEDGER}"])
def test_a_folder_that_others_can_write_is_not_used(signer, tmp_path, part):
    signer.sign_head(LEDGER, growth(2))
    (tmp_path / part).chmod(0o777)
    if not part:
        assert signer.last(LEDGER)
        return
    for ask in (lambda: signer.last(LEDGER), lambda: signer.sign_head(LEDGER, growth(3, 2))):
        with pytest.raises(SignerAway, match="others can write"):
            ask()


def test_links_are_not_followed(signer, tmp_path):
    signer.sign_head(LEDGER, growth(2))
    folder = tmp_path / "signer" / LEDGER
    for name in ("heads", "ed25519"):
        (folder / name).rename(tmp_path / name)
        (folder / name).symlink_to(tmp_path / name)
    fresh = opened(tmp_path)
    for ask in (lambda: fresh.last(LEDGER), lambda: fresh.known_key(LEDGER)):
        with pytest.raises(Unavailable):
            ask()
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SignerAway, match="link"):
        fresh.last(LEDGER)


@pytest.mark.parametrize("left", [slice(0, -9), slice(9, None)])
def test_what_was_left_unfinished_was_never_given_away(signer, tmp_path, left):
    """A line without an end, or with zeros for a sector that never came, is cut off by the next one, and is no head."""
    last = signer.sign_head(LEDGER, growth(2))
    heads = tmp_path / "signer" / LEDGER / "heads"
    whole = heads.read_bytes()
    heads.write_bytes(whole + bytes(left.start) + whole[left])
    assert signer.last(LEDGER) == last
    signer.sign_head(LEDGER, growth(3, 2))
    assert [line.count(b"{") for line in heads.read_bytes().splitlines()] == [1, 1]


def test_a_memory_that_cannot_be_read_signs_nothing(signer, tmp_path):
    signer.sign_head(LEDGER, growth(2))
    for content in (b"garbage\n", b"[]\n", b'{"size":1}\n'):
        (tmp_path / "signer" / LEDGER / "heads").write_bytes(content)
        with pytest.raises(SignerAway, match="remembers"):
            signer.sign_head(LEDGER, growth(3, 2))
    with pytest.raises(SignerAway):
        signer.public_key("../elsewhere")


_SIGN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_signer import LEDGER, growth, opened
from counterpoint.kernel.errors import StaleVersion
signer, size = opened(Path(sys.argv[2])), 1
print("ready", flush=True)
sys.stdin.readline()
while size < 40:
    last = signer.last(LEDGER)
    size = (last.size if last else 0) + 1
    try:
        made = signer.sign_head(LEDGER, growth(size, size - 1))
    except StaleVersion:
        continue
    print(made.size, made.root.hex(), flush=True)
"""


def _racers(tmp_path: Path, many: int) -> list[subprocess.Popen[str]]:
    tests = Path(__file__).parents[2]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])}
    command = [sys.executable, "-c", _SIGN, str(Path(__file__).parent), str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    found = [subprocess.Popen(command, env=environ, **pipes) for _ in range(many)]
    for one in found:
        assert one.stdout.readline() == "ready\n"
    for one in found:
        one.stdin.write("\n")
        one.stdin.flush()
    return found


@pytest.mark.e2e
def test_two_signers_at_once_sign_one_history(tmp_path):
    racers = _racers(tmp_path, 2)
    said = [line for racer in racers for line in racer.communicate()[0].splitlines()]
    assert sorted(int(line.split()[0]) for line in said) == list(range(1, len(said) + 1))
    assert all(root_of(leaves(int(s))).hex() == r for s, r in map(str.split, said))


@pytest.mark.e2e
def test_whatever_was_signed_before_a_kill_is_remembered(tmp_path):
    """`kill -9` between signing and writing it down: nothing is given away that is not kept."""
    for at in (3, 9, 17):
        (racer,) = _racers(tmp_path / str(at), 1)
        for _ in range(at):
            given = racer.stdout.readline()
        racer.send_signal(signal.SIGKILL)
        racer.wait()
        racer.stdout.close()
        racer.stdin.close()
        signer = opened(tmp_path / str(at))
        assert signer.last(LEDGER).size >= int(given.split()[0])
        size = signer.last(LEDGER).size
        signer.sign_head(LEDGER, growth(size + 1, size))


def test_the_home_of_another_account_holds_no_state(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(0o000)
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        if not os.getuid():
            os.setuid(61_003)
        try:
            state_folder({"XDG_STATE_HOME": str(home)})
        except SignerAway as fault:
            os.write(writes, f"{fault.message}\n{fault.hint}".encode())
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as answers:
        message, hint = answers.read().split("\n")
    os.waitpid(child, 0)
    assert "HOME is that of another account" in message
    assert "XDG_STATE_HOME" in hint
