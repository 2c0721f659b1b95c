"""A signer that is a program: what it is asked in lines, and what becomes of one that cannot be asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import HandClock
from counterpoint.core.ledger.merkle import consistency_proof, leaf_hash, nodes_of, root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.writers.signature import Range, seal_delegation, seal_range
from counterpoint.core.model.trust.heads import Growth
from counterpoint.core.model.trust.writers import WriterGrowth
from counterpoint.evidence.keys import verify
from counterpoint.evidence.trust import program
from counterpoint.evidence.trust import signer_lines as lines
from counterpoint.evidence.trust.program import CommandSigner
from counterpoint.evidence.trust.signer import FileSigner
from counterpoint.kernel.errors import (
    Forbidden,
    ForkRefused,
    InvalidInput,
    SignerAway,
    StaleVersion,
)

LEDGER, ORIGIN = "led_one", "counterpoint/demo"
Ask = Callable[..., CommandSigner]
OURS = (sys.executable, "-m", "counterpoint", "signer")


def growth(size: int, before: int = 0, story: str = "one", epoch: int = 1) -> Growth:
    """Answer a head with the proof that it extends its own beginning."""
    found = [leaf_hash(f"{story} {number}".encode()) for number in range(size)]
    return Growth(
        origin=ORIGIN,
        size=size,
        root=root_of(found),
        before=before,
        proof=tuple(consistency_proof(before, size, nodes_of(found))),
        epoch=epoch,
    )


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    """Give what asks a program whose state lies in a folder of the test."""
    made: list[CommandSigner] = []
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}

    def start(*words: str, place: str = "/one") -> CommandSigner:
        made.append(CommandSigner(words=words or OURS, place=place, environ=environ))
        return made[-1]

    yield start
    for one in made:
        one.close()


def test_a_program_signs_as_the_signer_of_its_account_does(ask: Ask, tmp_path: Path) -> None:
    """What it answers is what that remembers; nothing is made by looking."""
    signer = ask()
    assert (signer.known_key(LEDGER), signer.last(LEDGER), signer.placed()) == (None, None, {})
    assert not (tmp_path / "counterpoint").exists()
    first = signer.sign_head(LEDGER, growth(3))
    made = signer.sign_head(LEDGER, growth(8, 3))
    its = FileSigner(root=tmp_path / "counterpoint" / "signer", place="/one", clock=HandClock())
    assert signer.last(LEDGER) == its.last(LEDGER) == made
    assert signer.signed(LEDGER, 3) == first
    assert signer.signed(LEDGER, 4) is None
    assert signer.placed() == {ORIGIN: LEDGER}
    assert signer.public_key(LEDGER) == signer.known_key(LEDGER) == its.public_key(LEDGER)
    assert verify(its.public_key(LEDGER), b"receipt", signer.sign(LEDGER, b"receipt"))
    asked = WriterGrowth(writer="cn_1", first=1, last=1, count=1, root=leaf_hash(b"one"))
    said = signer.sign_ranges(LEDGER, ORIGIN, [asked])
    assert said[0] is not None
    assert said == its.sign_ranges(LEDGER, ORIGIN, [replace(asked, before=1)])


def test_it_refuses_what_its_memory_does(ask: Ask) -> None:
    """A fork, a proof from elsewhere, a head in the clothes of a statement, another ledger in its place."""
    signer = ask()
    signer.sign_head(LEDGER, growth(5))
    with pytest.raises(ForkRefused, match="written anew"):
        signer.sign_head(LEDGER, growth(9, 5, "two"))
    with pytest.raises(ForkRefused, match="cut off"):
        ask().sign_head(LEDGER, growth(2))
    with pytest.raises(StaleVersion):
        signer.sign_head(LEDGER, growth(9, 4))
    with pytest.raises(Forbidden, match="not signed as a statement"):
        signer.sign(LEDGER, b"counterpoint/demo\n9\n")
    with pytest.raises(ForkRefused, match="another ledger"):
        signer.sign_head("led_two", growth(1))
    assert ask(place="/two").sign_head("led_two", growth(1)).size == 1


def test_who_speaks_with_the_signer_has_no_text_signed_in_a_writers_name(ask: Ask) -> None:
    """No delegation and no range of his own wording, no entry twice, and none below; what comes next, he has."""
    signer, key = ask(), VerifierKey(name=ORIGIN, public_key=bytes(32))
    texts: list[bytes] = []

    def steal(text: bytes) -> bytes:
        texts.append(text)
        return signer.sign(LEDGER, text)

    found = Range(first=1, last=1, count=1, root=leaf_hash(b"forged"))
    with pytest.raises(Forbidden, match="names a writer"):
        seal_delegation(key, "cn_1", bytes(32), steal)
    with pytest.raises(Forbidden, match="names a writer"):
        seal_range(key, ORIGIN, "cn_1", found, steal)
    assert [text.split(b"/v1\n")[0] for text in texts] == [
        b"counterpoint/delegation",
        b"counterpoint/writer",
    ]
    for verb in ("writer_key", "sign_for"):
        with pytest.raises(InvalidInput, match="does not know"):
            signer._ask(verb, ledger=LEDGER, writer="cn_1", statement="00")

    def said(first: int, text: bytes) -> bool:
        asked = WriterGrowth(writer="cn_1", first=first, last=first, count=1, root=leaf_hash(text))
        return ask().sign_ranges(LEDGER, ORIGIN, [asked])[0] is not None

    assert said(7, b"mine")
    assert not said(7, b"forged")
    assert not said(3, b"forged")
    assert said(8, b"forged")


def test_an_epoch_takes_a_permit_of_the_account_that_has_the_key(ask: Ask, tmp_path: Path) -> None:
    signer, environ = ask(), {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    signer.sign_head(LEDGER, growth(5))
    with pytest.raises(Forbidden, match="permit") as refused:
        signer.open_epoch(LEDGER, growth(2, 0, "two", epoch=2))
    assert f"--permit-epoch {LEDGER}" in refused.value.hint
    run = [*OURS, "--permit-epoch"]
    assert subprocess.run([*run, "led_other"], env=environ, check=False).returncode != 0
    subprocess.run([*run, LEDGER], env=environ, check=True)
    assert signer.open_epoch(LEDGER, growth(2, 0, "two", epoch=2)).epoch == 2
    with pytest.raises(Forbidden, match="permit"):
        signer.open_epoch(LEDGER, growth(1, 0, "three", epoch=3))


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("", "it has ended"),
        ("input(); print('nonsense', flush=True); input()", "cannot be read"),
        ("input(); print('[]', flush=True); input()", "cannot be read"),
        ("input(); print('x' * 5_000_000, flush=True); input()", "more than an answer"),
        ("input(); input()", "no answer within"),
    ],
)
def test_a_program_that_cannot_be_asked_is_a_signer_that_is_away(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, code: str, why: str
) -> None:
    """Nobody asks it again for a while, so that no call waits for it twice; then it is started anew."""
    if "no answer" in why:
        monkeypatch.setattr(program, "PATIENCE", 0.5)
    signer = ask(sys.executable, "-c", code)
    with pytest.raises(SignerAway, match=why):
        signer.last(LEDGER)
    signer.words = OURS
    with pytest.raises(SignerAway, match=why):
        signer.last(LEDGER)
    monkeypatch.setattr(program, "PATIENCE", 20.0)
    signer._not_before = 0.0
    assert signer.last(LEDGER) is None


def test_a_program_that_reads_nothing_holds_nobody_for_ever(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "PATIENCE", 1.0)
    said = "input(); print('{\"ok\":1}', flush=True)"
    signer = ask(sys.executable, "-c", f"import time; {said}; time.sleep(60)")
    with pytest.raises(SignerAway, match="no answer within"):
        signer.sign(LEDGER, bytes(300_000))


def test_who_closes_a_signer_does_not_wait_for_its_answer(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = "input(); print('{\"ok\":1}', flush=True); input(); print('x', file=open('asked', 'w'))"
    signer = ask(sys.executable, "-c", f"import time; {said}; time.sleep(60)")
    heard: list[str] = []

    def wait() -> None:
        try:
            signer.last(LEDGER)
        except SignerAway as fault:
            heard.append(fault.message)

    waiting = threading.Thread(target=wait)
    waiting.start()
    while not (tmp_path / "asked").exists() and waiting.is_alive():
        waiting.join(0.05)
    signer.close()
    waiting.join(10)
    assert "it has ended" in heard[0]


def test_a_program_that_is_not_there_is_told(ask: Ask) -> None:
    with pytest.raises(SignerAway, match="/no/such/program"):
        ask("/no/such/program").last(LEDGER)


@pytest.mark.parametrize(
    ("value", "verb"),
    [
        ("7g", "public_key"),
        ({"size": 1}, "last"),
        ([], "last"),
        (None, "sign_ranges"),
        ([], "sign_ranges"),
    ],
)
def test_an_answer_that_makes_no_sense_is_no_signature(ask: Ask, value: Any, verb: str) -> None:
    said = json.dumps({"ok": value})
    signer = ask(
        sys.executable,
        "-c",
        f"input(); print('{{\"ok\":1}}', flush=True); input(); print({said!r}, flush=True); input()",
    )
    one = WriterGrowth(writer="cn_1", first=1, last=1, count=1, root=bytes(32))
    asked = (LEDGER, ORIGIN, [one]) if verb == "sign_ranges" else (LEDGER,)
    with pytest.raises(SignerAway, match="cannot be read"):
        getattr(signer, verb)(*asked)


def test_lines_that_ask_for_nothing_are_refused_and_end_nothing(tmp_path: Path) -> None:
    """As docs/service.md says: another version, no JSON, another verb, something that lacks."""
    spoken = [b"nonsense", b'{"counterpoint_signer":2,"place":"x"}', lines.hello("x")]
    spoken += [b"nonsense", b"[]", lines.request("steal"), lines.request("last")]
    spoken += [lines.request("sign", ledger=LEDGER, statement="7g")]
    spoken += [lines.request("last", ledger="../x"), lines.request("last", ledger=LEDGER)]
    ran = subprocess.run(
        OURS,
        input=b"\n".join(spoken) + b"\n",
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        check=True,
    )
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    codes = [one["error"]["code"] if "error" in one else one["ok"] for one in said]
    wrong = "invalid_input"
    assert codes == [wrong, wrong, 1, wrong, wrong, wrong, wrong, wrong, "signer_away", None]
