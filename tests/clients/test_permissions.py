"""What reaches our server, and what an agent may do, with what `counterpoint init` writes and nothing more."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.xdist_group("clients"),
]
CREDENTIAL = "COUNTERPOINT_CREDENTIAL"
PLAN = "# Greeting\n- [ ] say hello\n  verify: true"


@pytest.mark.parametrize("given", ["set", "unset", pytest.param("empty", marks=pytest.mark.long)])
def test_a_credential_reaches_the_server_of_each_client(
    bare: Any, scripted: ModuleType, run: Any, ask: Any, given: str
) -> None:
    """Set it is the principal of what the agent did; unset and empty it is none, and nothing is refused."""
    run(bare, "counterpoint", "init", "--yes", "--client", bare.name)
    made = json.loads(run(bare, "counterpoint", "agent", "create", "rae", "--json"))
    if given != "unset":
        bare.environ[CREDENTIAL] = made["credential"] if given == "set" else ""

    def script(heard: list[Any]) -> Any:
        if not heard:
            return scripted.Use(tool="note", arguments={"kind": "finding", "text": "begun"})
        return "It is noted."

    with scripted.Model(script) as model:
        bare.converse(model.url)
    bare.environ.pop(CREDENTIAL, None)
    assert model.faults == []
    (noted,) = ask(bare, "log", "--action", "finding.recorded")["entries"]
    principal = noted["actor"]["principal"]
    assert (principal["id"] == made["id"]) is (given == "set"), principal


@pytest.mark.parametrize("bare", ["claude", "codex"], indirect=True)
def test_an_agent_runs_a_check_in_its_ordinary_sandbox(
    bare: Any, scripted: ModuleType, run: Any, ask: Any
) -> None:
    """With what `init --hooks` writes and nothing more: nobody is there to be asked."""
    run(bare, "counterpoint", "init", "--yes", "--client", bare.name, "--hooks")
    run(bare, "counterpoint", "trust", "--allow", "true")
    bare.trusts = bare.is_bound = True

    def script(heard: list[Any]) -> Any:
        match len(heard):
            case 0:
                return scripted.Use(tool="plan", arguments={"markdown": PLAN})
            case 1:
                return scripted.Use(tool="next", arguments={"claim": True})
            case 2 | 3:
                claim = heard[1].answer["claim"]
                held = {"id": claim["item"], "token": claim["token"]}
                if len(heard) == 2:
                    return scripted.Use(tool="verify", arguments=held)
                return scripted.Use(
                    tool="finish", arguments={**held, "outcome": "done", "summary": "It is said."}
                )
            case _:
                return "It is done."

    with scripted.Model(script) as model:
        bare.converse(model.url)
    assert model.faults == []
    finished = ask(bare, "log", "--action", "task.finished")["entries"]
    assert len(finished) == 1, [one.text[:400] for one in model.heard]


@pytest.mark.parametrize("bare", ["claude"], indirect=True)
def test_in_a_folder_that_claude_was_never_opened_in_every_tool_is_refused(
    bare: Any, scripted: ModuleType, run: Any, ask: Any
) -> None:
    """It ignores the project's permissions, and `doctor` says so."""
    run(bare, "counterpoint", "init", "--yes", "--client", bare.name, "--hooks")
    bare.is_bound, bare.is_opened = True, False

    def script(heard: list[Any]) -> Any:
        return "" if heard else scripted.Use(tool="plan", arguments={"markdown": PLAN})

    with scripted.Model(script) as model:
        bare.converse(model.url)
    acts = {one["action"] for one in ask(bare, "log")["entries"]}
    assert "plan.created" not in acts
    said = json.loads(run(bare, "counterpoint", "doctor", "--json", check=False))["checks"]
    (found,) = (one["found"] for one in said if one["name"] == "claude")
    assert "never opened in this folder" in found


@pytest.mark.parametrize("bare", ["claude"], indirect=True)
def test_file_tools_leave_alone_what_only_the_server_writes(
    bare: Any, scripted: ModuleType, run: Any, ask: Any
) -> None:
    """Whatever its user allows; templates, phases and batches it may write, and its shell goes through the server."""
    run(bare, "counterpoint", "init", "--yes", "--client", bare.name)
    state = bare.tree / ".counterpoint"
    denied = [
        "ledger.db-more",
        "fresh.json",
        "checkpoints/x.note",
        "backups/x",
        "private/x",
        ".gitignore",
    ]
    allowed = ["templates/t.yaml", "phases/p.md", "batches/b.md"]
    before = (state / ".gitignore").read_text()
    mine = bare.home / ".claude"
    mine.mkdir(exist_ok=True)
    rules = {"allow": ["Edit", "Write", "Bash(counterpoint *)"]}
    (mine / "settings.json").write_text(json.dumps({"permissions": rules}))
    bare.is_bound = True
    note = "counterpoint note 'from the shell'"

    def script(heard: list[Any]) -> Any:
        paths = [*denied, *allowed]
        if len(heard) < len(paths):
            path = str(state / paths[len(heard)])
            given = {"file_path": path, "content": "mine"}
            return scripted.Use(tool="Write", arguments=given, is_ours=False)
        if len(heard) == len(paths):
            given = {"command": note, "description": "Note it"}
            return scripted.Use(tool="Bash", arguments=given, is_ours=False)
        return "It is done."

    with scripted.Model(script) as model:
        bare.converse(model.url)
    assert model.faults == []
    said = [one.text[:200] for one in model.heard]
    written = [name for name in (*denied, *allowed) if (state / name).exists()]
    assert written == [".gitignore", *allowed], said
    assert (state / ".gitignore").read_text() == before
    assert "from the shell" in json.dumps(ask(bare, "log", "--long")), said


@pytest.mark.long
@pytest.mark.parametrize("bare", ["codex"], indirect=True)
def test_the_profile_of_the_page_keeps_codex_out_of_the_ledger(
    bare: Any, scripted: ModuleType, run: Any, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its user's own file; its shell writes the tree, `phases/` and nothing else there, and the tools still write."""
    run(bare, "counterpoint", "init", "--yes", "--client", "codex")
    (bare.tree / ".counterpoint" / "phases").mkdir()
    page = (Path(__file__).parents[2] / "docs" / "clients" / "codex.md").read_text()
    profile = next(
        block
        for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
        if "[permissions" in block
    )
    paths = ["tree.txt", ".counterpoint/phases/p.md", ".counterpoint/x"]

    def script(heard: list[Any]) -> Any:
        if not heard:
            command = "; ".join(f"echo mine > {path}" for path in paths)
            return scripted.Use(tool="exec_command", arguments={"cmd": command}, is_ours=False)
        if len(heard) == 1:
            return scripted.Use(
                tool="note", arguments={"kind": "comment", "text": "through the tool"}
            )
        return "It is done."

    with scripted.Model(script) as model:
        bare.configure(model.url)
        own = "".join(
            line
            for line in bare.settings.read_text().splitlines(keepends=True)
            if not line.startswith("sandbox_mode")
        )
        settings = profile.split("\n", 1)[0] + own + profile.split("\n", 1)[1]
        monkeypatch.setattr(
            type(bare), "configure", lambda agent, _: agent.settings.write_text(settings)
        )
        bare.converse(model.url)
    assert model.faults == []
    answers = [answer.text[:300] for answer in model.heard]
    assert [path for path in paths if (bare.tree / path).exists()] == paths[:2], answers
    assert "through the tool" in json.dumps(ask(bare, "log", "--long")), answers
