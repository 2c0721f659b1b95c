"""The project's key: one, private, and able to sign."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from counterpoint.evidence.keys import find_public, load_key, make_key, open_key, verify
from counterpoint.kernel.errors import Unavailable

_RACER = """
import sys
from pathlib import Path
from counterpoint.evidence.keys import open_key
import cryptography.hazmat.primitives.asymmetric.ed25519
print("ready", flush=True)
sys.stdin.readline()
print(open_key(Path(sys.argv[1])).public_key.hex(), flush=True)
"""


def test_a_key_is_made_once_and_kept_private(tmp_path: Path) -> None:
    """The second opening finds the first key; modes are narrow; no draft stays behind."""
    folder = tmp_path / "deep" / "keys"
    key = open_key(folder)
    assert len(key.public_key) == 32
    assert open_key(folder).public_key == key.public_key
    assert {path.name for path in folder.iterdir()} == {"ed25519", "ed25519.pub"}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "ed25519").stat().st_mode) == 0o600


def test_a_signature_verifies_and_a_changed_one_does_not(tmp_path: Path) -> None:
    """Message, signature and key all matter; nonsense is false, not an error."""
    key = open_key(tmp_path / "k")
    signature = key.sign(b"message")
    assert len(signature) == 64
    assert verify(key.public_key, b"message", signature)
    assert not verify(key.public_key, b"other", signature)
    assert not verify(key.public_key, b"message", bytes(64))
    assert not verify(open_key(tmp_path / "l").public_key, b"message", signature)
    assert not verify(b"short", b"message", signature)
    assert not verify(key.public_key, b"message", b"short")


def test_a_known_signature_verifies() -> None:
    public = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    signature = (
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    assert verify(bytes.fromhex(public), b"\x72", bytes.fromhex(signature))


@pytest.mark.e2e
def test_eight_processes_end_with_one_key(tmp_path: Path) -> None:
    """All start at a signal and answer with the same public key."""
    folder = tmp_path / "keys"
    source = str(Path(sys.modules[open_key.__module__].__file__ or "").parents[2])
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", _RACER, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PYTHONPATH": source},
            text=True,
        )
        for _ in range(8)
    ]
    answers: set[str] = set()
    try:
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        answers = {racer.communicate(timeout=20)[0] for racer in racers}
    finally:
        for racer in racers:
            racer.kill()
            racer.wait()
    assert answers == {open_key(folder).public_key.hex() + "\n"}
    assert {path.name for path in folder.iterdir()} == {"ed25519", "ed25519.pub"}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622])
def test_a_key_that_others_can_touch_is_refused(tmp_path: Path, mode: int) -> None:
    """The hint is the command that mends it."""
    open_key(tmp_path / "k")
    (tmp_path / "k" / "ed25519").chmod(mode)
    with pytest.raises(Unavailable, match="others can read") as caught:
        open_key(tmp_path / "k")
    assert "chmod 600" in caught.value.hint


def test_a_folder_that_others_can_write_is_refused(tmp_path: Path) -> None:
    open_key(tmp_path / "k")
    (tmp_path / "k").chmod(0o777)
    with pytest.raises(Unavailable, match="others can write"):
        open_key(tmp_path / "k")


def test_a_key_file_that_is_none_is_refused(tmp_path: Path) -> None:
    """Nonsense, another kind of key, one with a passphrase, a folder; none is replaced."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    other = ec.generate_private_key(ec.SECP256R1())
    locked = ed25519.Ed25519PrivateKey.generate()
    path = tmp_path / "k" / "ed25519"
    open_key(tmp_path / "k")
    for content in (
        b"",
        b"nonsense",
        other.private_bytes(*form, serialization.NoEncryption()),
        locked.private_bytes(*form, serialization.BestAvailableEncryption(b"pass")),
    ):
        path.write_bytes(content)
        with pytest.raises(Unavailable, match="key file"):
            open_key(tmp_path / "k")
        assert path.read_bytes() == content
    path.unlink()
    path.mkdir()
    with pytest.raises(Unavailable):
        open_key(tmp_path / "k")


@pytest.mark.parametrize("changed", ["as it is", "lines of Windows", "words before it", "wrapped"])
def test_a_key_is_read_in_whatever_form_its_file_has(tmp_path: Path, changed: str) -> None:
    """The form that we write is read without the library's reader; others are not refused, and are the same key."""
    made = make_key()
    body = made.splitlines()[1]
    content = {
        "as it is": made,
        "lines of Windows": made.replace(b"\n", b"\r\n"),
        "words before it": b"# mine\n" + made,
        "wrapped": made.replace(body, body[:40] + b"\n" + body[40:]),
    }[changed]
    wanted = serialization.load_pem_private_key(made, password=None).public_key()
    form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    key = load_key(content)
    assert key.public_pem == wanted.public_bytes(*form)
    assert verify(key.public_key, b"x", key.sign(b"x"))


def test_what_only_looks_like_a_key_of_ours_is_refused() -> None:
    """Letters that are none of its alphabet, and a body of another length."""
    begin, _, end, last = make_key().split(b"\n")
    for body in (b"M$", b"MC4CAQAwBQYDK2VwBCIEIA==", b""):
        with pytest.raises(Unavailable, match="key file"):
            load_key(b"\n".join((begin, body, end, last)))


def test_a_public_file_of_another_key_is_refused(tmp_path: Path) -> None:
    """A missing one is written again; a wrong one means that something was replaced."""
    key = open_key(tmp_path / "k")
    path = tmp_path / "k" / "ed25519.pub"
    content = path.read_bytes()
    assert content == key.public_pem
    path.unlink()
    open_key(tmp_path / "k")
    assert path.read_bytes() == content
    path.write_bytes(open_key(tmp_path / "l").public_pem)
    with pytest.raises(Unavailable, match="another key"):
        open_key(tmp_path / "k")


def test_a_place_that_cannot_be_written_is_unavailable(tmp_path: Path) -> None:
    """The folder's way leads through a file."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(Unavailable, match="cannot be used"):
        open_key(tmp_path / "file" / "keys")


def test_the_key_is_not_in_what_is_printed(tmp_path: Path) -> None:
    """A log line with the object shows the public half only."""
    assert "_sign" not in repr(open_key(tmp_path / "k"))


def test_the_library_is_loaded_only_when_a_key_is_used() -> None:
    """Importing the module costs no cryptography."""
    source = str(Path(sys.modules[open_key.__module__].__file__ or "").parents[2])
    script = "import sys, counterpoint.evidence.keys; print('cryptography' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": source}, capture_output=True, check=True
    )
    assert done.stdout == b"False\n"


def test_the_public_half_is_read_from_its_file(tmp_path: Path) -> None:
    """It is that of the key; where there is no key nothing is made."""
    assert find_public(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    key = open_key(tmp_path / "k")
    assert find_public(tmp_path / "k") == key.public_key


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nonsense",
        b"-----BEGIN PUBLIC KEY-----\n%%%%\n-----END PUBLIC KEY-----\n",
        b"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n",
        None,
    ],
)
def test_a_public_half_of_another_form_is_not_taken(tmp_path: Path, content: bytes | None) -> None:
    """Nor one that is not there: then the key itself is asked."""
    open_key(tmp_path)
    (tmp_path / "ed25519.pub").unlink()
    if content is not None:
        (tmp_path / "ed25519.pub").write_bytes(content)
    assert find_public(tmp_path) is None


def test_a_public_half_beside_no_sound_private_one_is_not_taken(tmp_path: Path) -> None:
    """What was left of a key signs nothing; one that others can read is refused, and one that cannot be read."""
    open_key(tmp_path)
    private = tmp_path / "ed25519"
    private.chmod(0o644)
    with pytest.raises(Unavailable, match="others can read"):
        find_public(tmp_path)
    private.chmod(0o600)
    private.write_bytes(b"nonsense")
    assert find_public(tmp_path) is None
    private.unlink()
    assert find_public(tmp_path) is None
    private.mkdir(mode=0o700)
    with pytest.raises(Unavailable, match="not a plain file"):
        find_public(tmp_path)
    private.rmdir()
    private.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unavailable, match="cannot be read"):
        find_public(tmp_path)
