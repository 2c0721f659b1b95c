"""Erasure: words written through every text of the native tools are in no file any more."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

WORD = "zqxwalrus"
WORDS = f"the {WORD} of 4711"
PLAN = (
    f"# Orchard {WORDS}\n## Dig {WORDS}\n- [ ] Plant {WORDS}\n  - accept: it {WORDS}\n- [ ] Prune\n"
)


def spoken(agent: Any) -> None:
    """Write the words through everything that takes a text, each under an idempotency key."""

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        key = f"key-{tool}-{len(arguments)}-{min(arguments)}"
        answer = agent.call(tool, **arguments, idempotency_key=key)
        assert agent.call(tool, **arguments, idempotency_key=key) == answer
        return answer

    made = call("plan", markdown=PLAN)
    task = next(one for one in json.dumps(made).split('"') if one.endswith("-3"))
    call("note", kind="finding", text=f"{WORDS}\nand more", title=WORDS, item=task)
    blocker = call("note", kind="blocker", text=WORDS, item=task)["record"]["id"]
    call("note", kind="decision", text=f"so be it: {WORDS}", resolves=blocker)
    call("memory", action="set", key="k", value={"deep": [WORDS, f'"{WORDS}"']})
    call("update", id=task, title=WORDS, body=f"{WORDS}, said first")
    call("update", id=task, body="another", reason=f"because {WORDS}")
    call("update", id=task, status="cancelled", reason=WORDS)
    call("handoff", action="pause", summary=WORDS, next_steps=[WORDS])


def files_with(folder: Path, needles: list[bytes]) -> list[str]:
    """Answer the files below a folder that have any of the needles in them."""
    return [
        str(file.relative_to(folder))
        for file in sorted(folder.rglob("*"))
        if file.is_file() and any(needle in file.read_bytes() for needle in needles)
    ]


def test_words_are_in_no_file_after_they_were_taken_away_beside_a_connected_agent(
    connect: Callable[..., Any],
    counterpoint: Callable[..., subprocess.CompletedProcess[str]],
    folder: Path,
    tmp_path: Path,
) -> None:
    """Nor does any hash of them stay, and a bundle of before, the ledger and the rebuild still hold."""
    agent = connect(folder)
    spoken(agent)
    assert files_with(folder, [WORDS.encode()])
    bundle = tmp_path / "before.bundle"
    assert counterpoint("audit", "export", str(bundle), cwd=folder).returncode == 0
    # What is known of it to whoever guesses.
    secret = tmp_path / "secret"
    secret.write_text(WORDS)
    done = counterpoint(
        "audit", "redact", "--text", str(secret), "--reason", "private", "--json", cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["left"] == []
    assert len(told["redacted"]) >= 10
    assert told["replies"] >= 5
    assert told["receipt"]["path"]
    guesses = [hashlib.sha256(WORDS.encode()), hashlib.sha256(b"\x02" + WORDS.encode())]
    hashes = [form for one in guesses for form in (one.digest(), one.hexdigest().encode())]
    assert files_with(folder, [WORD.encode(), WORD[:-1].encode(), *hashes]) == []
    again = agent.call("note", kind="finding", text="still here")
    assert again["record"]["id"]
    for words in (("audit", "verify"), ("audit", "rebuild"), ("verify", str(bundle))):
        assert counterpoint(*words, cwd=folder).returncode == 0, words
