"""SSH signatures of every sort of key, held against ssh-keygen and the small verifier."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from counterpoint.core.ledger.note import from_base64, to_base64
from counterpoint.core.ledger.people import sshsig
from counterpoint.kernel.errors import MalformedDocument
from fakes import ssh

MESSAGE = b"counterpoint/act/v1\n{}"
VERIFIER = Path(__file__).parents[4] / "docs" / "verifier" / "verify.py"


@pytest.fixture(scope="module")
def small() -> ModuleType:
    """The verifier that shares no code with the product."""
    found = importlib.util.spec_from_file_location("small_verifier", VERIFIER)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def is_signed(small: ModuleType, public_key: str, message: bytes, signature: str) -> bool:
    """Answer what both of ours say; they must agree."""
    try:
        other = small.is_ssh_signed(public_key, message, signature)
    except (small.Broken, ValueError, LookupError):
        other = False
    assert sshsig.verify(public_key, message, signature) is other
    return other


def keygen(folder: Path, public_key: str, message: bytes, signature: str) -> bool:
    """Answer what `ssh-keygen -Y verify` says."""
    program = shutil.which("ssh-keygen")
    if program is None:
        pytest.skip("ssh-keygen is not installed: nothing here is held against OpenSSH")
    (folder / "signers").write_text(f"pat {public_key}\n")
    (folder / "sig").write_text(sshsig.render_armour(signature))
    command = [program, "-Y", "verify", "-n", "counterpoint", "-I", "pat"]
    command += ["-f", str(folder / "signers"), "-s", str(folder / "sig")]
    return subprocess.run(command, input=message, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("sort", ssh.SORTS)
def test_a_signature_of_every_sort_holds_for_three_verifiers(
    sort: str, small: ModuleType, tmp_path: Path
) -> None:
    """Ours, the small one and OpenSSH's; not of another message, and not with another byte."""
    public_key, sign = ssh.make(sort)
    signature = sign(MESSAGE)
    assert is_signed(small, public_key, MESSAGE, signature)
    assert keygen(tmp_path, public_key, MESSAGE, signature)
    assert not is_signed(small, public_key, MESSAGE + b" ", signature)
    assert not keygen(tmp_path, public_key, MESSAGE + b" ", signature)
    whole = from_base64(signature)
    for place in range(0, len(whole), 19):
        other = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        # The counter of a hardware key is signed too.
        assert not is_signed(small, public_key, MESSAGE, to_base64(other)), place
    stranger = ssh.make(sort)[0]
    assert not is_signed(small, stranger, MESSAGE, signature)


@pytest.mark.parametrize(
    "other",
    [
        {"space": b"git"},
        {"space": b"file"},
        {"reserved": b"x"},
        {"hash": b"md5"},
        {"magic": b"SSHSIG\0\0\0\2"},
        {"tail": b"x"},
        {"signature": ssh.string(b"ssh-rsa") + ssh.string(bytes(64))},
        {"signature": ssh.string(b"ssh-ed25519") + ssh.string(bytes(63))},
        {"signature": b"\xff\xff\xff\xff"},
    ],
)
def test_a_signature_for_something_else_is_none(other: dict[str, bytes], small: ModuleType) -> None:
    """A commit's, one of another version, one with something after its end."""
    public_key, sign = ssh.make("ssh-ed25519")
    assert is_signed(small, public_key, MESSAGE, sign(MESSAGE, hash=b"sha256"))
    assert not is_signed(small, public_key, MESSAGE, sign(MESSAGE, **other))


@pytest.mark.parametrize("sort", ssh.SORTS[-2:])
def test_a_hardware_key_that_nobody_touched_signs_nothing(sort: str, small: ModuleType) -> None:
    """The flag that somebody was present must be set."""
    public_key, sign = ssh.make(sort, flags=0)
    assert not is_signed(small, public_key, MESSAGE, sign(MESSAGE))
    assert sshsig.is_hardware(public_key)


def _key(*parts: bytes) -> str:
    return f"{parts[0].decode()} {to_base64(b''.join(map(ssh.string, parts)))}"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ssh-ed25519",
        "ssh-ed25519 !!!!",
        "ssh-rsa " + _key(b"ssh-ed25519", bytes(32)).split(" ")[1],
        _key(b"ssh-ed25519", bytes(31)),
        _key(b"ssh-ed25519", bytes(32), b"more"),
        _key(b"ssh-dss", b"x"),
        _key(b"ecdsa-sha2-nistp256", b"nistp384", b"\4" + bytes(64)),
        _key(b"ecdsa-sha2-nistp256", b"nistp256", b"\4" + bytes(64)),
        _key(b"ecdsa-sha2-nistp256", b"nistp256", b"\2" + bytes(32)),
        _key(b"ecdsa-sha2-nistp999", b"nistp999", b"\4" + bytes(64)),
        _key(b"ssh-rsa", b"\3", b"\0" + b"\xff" * 128),
        _key(b"ssh-rsa", b"\3", b"\0" + b"\xff" * 255 + b"\xfe"),
        _key(b"ssh-rsa", b"\0\3", b"\0" + b"\xff" * 256),
        _key(b"ssh-rsa", b"", b"\0" + b"\xff" * 256),
        _key(b"ssh-rsa", b"\1", b"\0" + b"\xff" * 256),
        _key(b"ssh-rsa", b"\2", b"\0" + b"\xff" * 256),
        _key(b"ssh-rsa", b"\1" + bytes(7) + b"\1", b"\0" + b"\xff" * 256),
    ],
)
def test_what_is_no_public_key_is_refused(line: str) -> None:
    """Another sort than its line says, no point of the curve, too few bits, an even number, an exponent that is even, 1 or long."""
    with pytest.raises(MalformedDocument):
        sshsig.public_key_of(line)
    assert not sshsig.verify(line, MESSAGE, "AAAA")


def test_a_line_may_have_a_comment_and_a_file_its_frame() -> None:
    """As `id_ed25519.pub` and `ssh-keygen -Y sign` write them."""
    public_key, sign = ssh.make("ssh-ed25519")
    assert sshsig.public_key_of(f"{public_key} pat@home\n") == public_key
    signature = sign(MESSAGE)
    assert sshsig.parse_armour(sshsig.render_armour(signature)) == signature
    for broken in ("", "x", sshsig.render_armour(signature).replace("BEGIN", "BEGUN")):
        with pytest.raises(MalformedDocument):
            sshsig.parse_armour(broken)


def test_a_fingerprint_is_as_openssh_says_it(tmp_path: Path) -> None:
    """`ssh-keygen -l` names a key by the same id."""
    program = shutil.which("ssh-keygen")
    if program is None:
        pytest.skip("ssh-keygen is not installed: nothing here is held against OpenSSH")
    public_key, _ = ssh.make("ssh-ed25519")
    (tmp_path / "key.pub").write_text(public_key + "\n")
    said = subprocess.check_output([program, "-l", "-f", str(tmp_path / "key.pub")], text=True)
    assert sshsig.key_id_of(public_key) in said.split()
