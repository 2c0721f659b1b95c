"""Witnesses that do not answer as they should, and settings that name none."""

from __future__ import annotations

import http.client
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from counterpoint.core.ledger.checkpoint import Checkpoint, seal
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.witnesses.cosignature import CosignerKey, cosign
from counterpoint.core.model.trust.heads import SignedHead
from counterpoint.evidence.witnesses.asking import LARGEST, Address
from counterpoint.evidence.witnesses.cosigner import Cosigner
from counterpoint.evidence.witnesses.opening import open_witnesses
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import CounterpointError, ForkRefused, InvalidInput, Unavailable

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
RAW = PRIVATE.public_key().public_bytes_raw()
KEY = CosignerKey(name="witness.example/w1", public_key=RAW)
LOG = VerifierKey(name="counterpoint/demo", public_key=RAW)
HEAD = Checkpoint(origin=LOG.name, size=3, root=bytes(32))
SIGNED = SignedHead(size=3, root=bytes(32), epoch=1, time="", note=seal(HEAD, PRIVATE.sign, LOG))

Listen = Callable[[Callable[[socket.socket], None]], str]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Give what listens on this machine and answers each connection as it is told."""
    doors: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def start(answer: Callable[[socket.socket], None]) -> str:
        door = socket.create_server(("127.0.0.1", 0))
        doors.append(door)

        def serve() -> None:
            while True:
                try:
                    client, _ = door.accept()
                except OSError:
                    return
                with client:
                    try:
                        hear(client)
                        answer(client)
                    except OSError:
                        continue

        threads.append(threading.Thread(target=serve, daemon=True))
        threads[-1].start()
        return f"http://127.0.0.1:{door.getsockname()[1]}/w"

    yield start
    for door in doors:
        door.shutdown(socket.SHUT_RDWR)
        door.close()
    for thread in threads:
        thread.join(10)


def hear(client: socket.socket) -> None:
    """Read a request whole: its head and its body come apart, and a body that is left looks like a further word."""
    with client.makefile("rb") as told:
        told.readline()
        head = http.client.parse_headers(told)
        told.read(int(head["Content-Length"]))


def says(status: str, body: bytes = b"", *headers: str) -> Callable[[socket.socket], None]:
    """Answer something that always answers the same."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return lambda client: client.sendall("\r\n".join(lines).encode() + body)


def greet(client: socket.socket) -> None:
    """Answer as something else than a web server."""
    client.sendall(b"SSH-2.0\r\n")


def drip(client: socket.socket) -> None:
    """Answer a byte now and then, for ever."""
    client.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    # Until the other side has had enough.
    while not select.select([client], [], [], 0.02)[0]:
        client.sendall(b"x")


def test_an_answer_that_never_ends_is_cut_off(listen: Listen) -> None:
    """Each byte comes in time, and the whole does not."""
    address = Address.from_text(listen(drip))
    begun = time.monotonic()
    with pytest.raises(Unavailable, match="does not answer"):
        address.post("add-checkpoint", b"x", limit=0.3)
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (says("200 OK", b"x" * (LARGEST + 1)), Unavailable, "more than"),
        (says("302 Found", b"", "Location: http://127.0.0.1:1/"), Unavailable, "answers 302"),
        (says("500 Oops"), Unavailable, "answers 500"),
        (says("403 Forbidden"), Unavailable, "does not know this log"),
        (says("404 Not Found"), Unavailable, "does not know this log"),
        (says("409 Conflict", b"another root\n"), ForkRefused, "another head of 0"),
        (says("422 No", b"no\n"), ForkRefused, "are not the first"),
        (says("200 OK", b"nothing\n"), Unavailable, "no cosignature"),
        (says("200 OK", b"\xff\n"), Unavailable, "no cosignature"),
        (says("200 OK", cosign("a\n", KEY, PRIVATE.sign, 5).encode()), Unavailable, "no cosig"),
        (greet, Unavailable, "does not answer"),
    ],
)
def test_only_a_cosignature_of_its_key_over_this_head_counts(
    listen: Listen,
    tmp_path: Path,
    answer: Callable[[socket.socket], None],
    error: type[CounterpointError],
    words: str,
) -> None:
    """Nothing is followed, nothing else is kept, and a refusal of the history is told as one."""
    cosigner = Cosigner(
        key=KEY, address=Address.from_text(listen(answer)), folder=tmp_path / "kept"
    )
    with pytest.raises(error, match=words):
        cosigner.keep("led_1", SIGNED, lambda _first, _second: ())
    assert not (tmp_path / "kept").exists()


def test_what_a_witness_says_it_has_is_told_also_if_nothing_is_kept_of_it(
    listen: Listen, tmp_path: Path
) -> None:
    """More than we have, none, or less: then the proof decides."""

    def asked(*answers: bytes) -> Cosigner:
        left = list(answers)

        def answer(client: socket.socket) -> None:
            says("409 Conflict", left.pop(0), "Content-Type: text/x.tlog.size")(client)

        return Cosigner(key=KEY, address=Address.from_text(listen(answer)), folder=tmp_path)

    proofs: list[tuple[int, int]] = []

    def prove(first: int, second: int) -> tuple[bytes, ...]:
        proofs.append((first, second))
        return ()

    more = asked(b"9\n").ask("led_1", SIGNED, prove)
    assert more is not None
    assert (more.size, more.note) == (9, "")
    assert asked(b"0\n").ask("led_1", SIGNED, prove) is None
    assert proofs == []
    with pytest.raises(Unavailable, match="and then 1"):
        asked(b"2\n", b"1\n").ask("led_1", SIGNED, prove)
    assert proofs == [(2, 3)]
    with pytest.raises(Unavailable, match="later head, of 9"):
        asked(b"9\n").keep("led_1", SIGNED, prove)
    with pytest.raises(Unavailable, match="all the time"):
        asked(b"1\n", b"2\n").keep("led_1", SIGNED, prove)


@pytest.mark.parametrize(
    "setting",
    [
        "nonsense",
        f"{KEY.to_text()}",
        f"{LOG.to_text()} http://127.0.0.1:1",
        f"{KEY.to_text()} ftp://example.org/",
        f"{KEY.to_text()} http://me:secret@example.org/",
        f"{KEY.to_text()} http://example.org:x/",
        f"{KEY.to_text()} http://example.org/?q=1",
    ],
)
def test_a_setting_that_names_no_witness_is_refused(tmp_path: Path, setting: str) -> None:
    """Whoever relies on a witness hears that there is none."""
    with pytest.raises(InvalidInput, match=r"witness|WITNESSES"):
        open_witnesses(
            tmp_path,
            {},
            SystemClock(),
            by_git="on",
            remote="",
            elsewhere=setting,
            checkpoints=tmp_path,
        )


@pytest.mark.parametrize("named", [{"by_git": "perhaps"}, {"remote": "--upload-pack=x"}])
def test_a_switch_and_a_remote_that_are_none_are_refused(
    tmp_path: Path, named: dict[str, str]
) -> None:
    """An option of git in place of a name goes nowhere."""
    (tmp_path / ".git").mkdir()
    said = {"by_git": "on", "remote": "", "elsewhere": ""} | named
    with pytest.raises(InvalidInput):
        open_witnesses(tmp_path, {}, SystemClock(), checkpoints=tmp_path, **said)
