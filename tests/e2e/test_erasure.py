"""Erasure: words written through every text of the native tools are in no file any more."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from builders import AGENT_PROCESS, let_run
from counterpoint.app import open_app
from counterpoint.core.model.filters import Note

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
    task, other = (one["id"] for one in made["items"] if one["kind"] == "task")
    call("note", kind="finding", text=f"{WORDS}\nand more", title=WORDS, id=task)
    blocker = call("note", kind="blocker", text=WORDS, id=task)["record"]["id"]
    call("note", kind="blocker", text=f"so be it: {WORDS}", resolves=blocker)
    call("remember", action="set", key="k", value={"deep": [WORDS, f'"{WORDS}"']})
    call("edit", id=task, title=WORDS, description=f"{WORDS}, said first")
    call("edit", id=task, description="another", reason=f"because {WORDS}", accept=[WORDS])
    call("edit", id=task, verify=[["true", WORDS]], priority=1, reason=WORDS)
    call("edit", id=task, status="cancelled", reason=WORDS)
    token = call("start", id=other)["claim"]["token"]
    call("verify", id=other, command=["echo", WORDS], token=token)
    lists = {name: [WORDS] for name in ("achievements", "limitations", "next_steps")}
    call("finish", id=other, token=token, outcome="done", summary=WORDS, **lists)
    call(
        "handoff",
        action="pause",
        summary=WORDS,
        next_steps=[WORDS],
        blockers=[WORDS],
        context=WORDS,
    )


def files_with(folder: Path, needles: list[bytes]) -> list[str]:
    """Answer the files below a folder that have any of the needles in them."""
    return [
        str(file.relative_to(folder))
        for file in sorted(folder.rglob("*"))
        if file.is_file() and any(needle in file.read_bytes() for needle in needles)
    ]


def test_words_are_in_no_file_after_they_were_taken_away_beside_a_connected_agent(
    wire: ModuleType,
    counterpoint: Callable[..., subprocess.CompletedProcess[str]],
    folder: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """Nor does any hash of them stay, and a bundle of before, the ledger and the rebuild still hold."""
    # What its shell runs is the agent, and takes no text away.
    agent = wire.Client(folder, (*AGENT_PROCESS, *wire.SERVER))
    request.addfinalizer(agent.close)
    agent.greet()
    let_run(folder)
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


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_another_process_took_away_gets_a_fresh_salt(
    kind: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    """Whoever wrote it just before writes it again: under another commitment, which no earlier entry names."""
    made: dict[str, str] = {}
    if kind == "postgres":
        databases = request.getfixturevalue("databases")
        made["db"] = databases.empty()
        request.addfinalizer(lambda: databases.drop(made["db"]))
    one, other = (open_app(folder, {}, **made) for _ in range(2))
    for app in (one, other):
        request.addfinalizer(app.close)

    def commitments() -> set[str]:
        with one.store.reading(one.project) as view:
            return {kept.commitment for _, kept in view.texts() if WORDS in kept.body}

    one.itself().journal.append(Note(kind="finding", body=WORDS))
    before = commitments()
    one.itself().journal.append(Note(kind="finding", body=WORDS))
    assert commitments() == before
    other.itself().erasing.of_words(WORDS, reason="private")
    one.itself().journal.append(Note(kind="finding", body=WORDS))
    after = commitments()
    assert after
    assert not after & before
