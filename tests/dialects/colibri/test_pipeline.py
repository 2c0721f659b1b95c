"""The five stages: their order, the rows of each call, the lock, and the modes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from builders import Workshop
from counterpoint.dialects.colibri import pipeline
from counterpoint.dialects.colibri.nouns import Asked
from counterpoint.dialects.colibri.verbs.actions import Actions, Health
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from counterpoint.dialects.registry import surface
from counterpoint.kernel.errors import InvalidInput, StoreFull
from counterpoint.settings import Settings
from fakes.speaker import Speaker

TOOLS = surface("colibri", Settings(proofs="1")).tools
READS = {"TASK": "none"}
PATIENCE = 20


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Answer the stages that the next calls reach, in order."""
    reached: list[str] = []
    reach = pipeline.Passage.reach

    def present(passage: Any, stage: Any) -> None:
        reach(passage, stage)
        reached.append(stage)

    monkeypatch.setattr(pipeline.Passage, "reach", present)
    return reached


def test_a_call_goes_through_all_five_stages_in_the_order_of_the_contract(
    ada: Speaker, stages: list[str]
) -> None:
    """Whether it reads or writes."""
    ada.task()
    assert stages == list(pipeline.STAGES)
    stages.clear()
    ada.does("task_list")
    assert stages == ["lock", "validate", "audit enter", "dispatch", "audit exit"]


def test_a_call_that_is_not_valid_never_reaches_its_tool(ada: Speaker, stages: list[str]) -> None:
    """It has both rows all the same."""
    ada.fails("task_get", nothing=1)
    assert stages == ["lock", "validate", "audit exit"]
    assert ada.ending == "invalid"


def test_a_stage_is_never_gone_back_to(ada: Speaker) -> None:
    """A mistake in the pipeline would be heard of at once."""
    call: Any = None
    passage = pipeline.Passage(call=call, tool=TOOLS[0], asked=Asked(tool="x", arguments=""))
    passage.reach("validate")
    for stage in ("lock", "validate"):
        with pytest.raises(AssertionError, match="comes before"):
            passage.reach(stage)


def test_every_tool_leaves_two_rows_for_a_call_that_is_not_valid(ada: Speaker) -> None:
    for tool in (one.name for one in TOOLS):
        error = ada.fails(tool, colour="red")
        assert error["code"] == "INVALID_PARAMS"
        assert ["colour"] in [issue["path"] for issue in error["details"]["issues"]]
        entered, ended = ada.core.use(Actions).list(limit=1)[0]
        assert (entered.tool, entered.outcome, ended.outcome) == (tool, "running", "invalid")
        assert ada.agent.last_entry.action == "call.refused"


def test_every_tool_that_only_reads_leaves_two_rows(ada: Speaker) -> None:
    """And the digest of its answer."""
    for tool in (one.name for one in TOOLS if one.reads and not one.parameters.required):
        before = ada.agent.ledger_size
        reply = ada.call(tool)
        assert reply.answer["ok"], reply.text
        assert ada.agent.ledger_size == before + 2
        assert ada.agent.last_entry.action == "call.ended"
        _, ended = ada.core.use(Actions).list(limit=1)[0]
        assert ended.answer == pipeline.digest(reply.answer) != "", tool


def test_the_rows_say_who_called_what_and_how_long_it_took(
    ada: Speaker, workshop: Workshop
) -> None:
    """Two rows under one number; the numbers have no gap."""
    ada.task()
    ada.declines("task_get", id="none")
    told = ada.does("audit_actions")["actions"]
    assert [(one["sequence_no"], one["tool"], one["outcome"], one["code"]) for one in told] == [
        (3, "audit_actions", "running", None),
        (2, "task_get", "domain_error", "ERR_NOT_FOUND"),
        (1, "task_create", "ok", None),
    ]
    assert told[2]["args_digest"] == pipeline.digest({"title": "Mend the lock"})
    assert told[2]["args_digest"] != sha256(b'{"title":"Mend the lock"}').hexdigest()
    assert (told[2]["agent"], told[2]["session_id"]) == ("ada", ada.agent.session)
    assert told[2]["duration_ms"] == 0
    assert len({one["correlation_id"] for one in told}) == 3
    only = ada.does("audit_actions", tool="task_get", outcome="domain_error")["actions"]
    assert [one["sequence_no"] for one in only] == [2]
    page = ada.does("audit_actions", limit=2)
    rest = ada.does("audit_actions", limit=9, cursor=page["next_cursor"])
    assert [one["sequence_no"] for one in page["actions"] + rest["actions"]] == [5, 4, 3, 2, 1]


def test_a_tool_that_breaks_leaves_the_end_of_its_call(
    ada: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of what it wrote is left; what went wrong inside is not told."""
    task = ada.task()

    def breaks(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(Thoughts, "_link", breaks)
    error = ada.fails("thought_record", type="plan", task_id=task, agent_id="a", content="x")
    assert error["code"] == "HANDLER_ERROR"
    assert "secret" not in str(error)
    assert ada.ending == "error"
    monkeypatch.undo()
    assert ada.does("thought_record_list")["thoughts"] == []


def test_without_a_first_row_nothing_is_done(ada: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only ping and health answer, and health says why."""

    def full(*_: Any) -> None:
        raise StoreFull

    monkeypatch.setattr(Actions, "enter", full)
    assert ada.fails("task_create", title="x")["details"]["kind"] == "store_full"
    assert ada.call("server_ping").answer["data"]["mode"] == "FULL"
    health = ada.call("server_health").answer["data"]
    assert health["status"] == "degraded"
    assert "nothing can be written" in health["reasons"][0]
    monkeypatch.undo()
    assert ada.does("task_list")["tasks"] == []


def test_a_secret_in_an_argument_is_never_kept(ada: Speaker) -> None:
    """Only the digest of the arguments is; one that canonical JSON cannot carry has none."""
    ada.fails("task_get", id=1.5)
    assert ada.core.use(Actions).list(limit=1)[0][0].arguments == ""


def test_who_writes_is_alone_and_who_reads_is_not() -> None:
    """Two readers meet inside; a writer meets nobody, and no reader passes one that waits."""
    turns, meeting = pipeline.Turns(), threading.Barrier(2)
    inside: list[str] = []

    def read() -> None:
        with turns.shared():
            meeting.wait(PATIENCE)

    def write() -> None:
        with turns.alone():
            inside.append("in")
            inside.append("out")

    with ThreadPoolExecutor(8) as pool:
        for one in [pool.submit(read), pool.submit(read)]:
            one.result(PATIENCE)
        for one in [pool.submit(write) for _ in range(50)]:
            one.result(PATIENCE)
        with turns.shared():
            writer = pool.submit(write)
            while not turns._waiting:
                assert not writer.done()
            late = pool.submit(lambda: inside.append(_enter(turns)))
            assert not writer.done()
        writer.result(PATIENCE)
        late.result(PATIENCE)
    assert inside == ["in", "out"] * 51 + ["late"]


def _enter(turns: pipeline.Turns) -> str:
    with turns.shared():
        return "late"


@pytest.mark.parametrize("mode", ["READONLY", "MINIMAL", "TEST"])
def test_a_mode_admits_what_it_says(speaker: Callable[..., Speaker], mode: str) -> None:
    """What it denies is told before the arguments are looked at."""
    agent = speaker(mode=mode)
    for tool in TOOLS:
        is_open = tool.name in pipeline.ALWAYS or (mode == "READONLY" and tool.reads)
        error = agent.fails(tool.name, colour="red")
        assert error["code"] == ("INVALID_PARAMS" if is_open else "MODE_DENIED"), tool.name
        if mode != "READONLY":
            assert agent.ending == ("invalid" if is_open else "denied")
    assert mode != "READONLY" or not agent.core.use(Actions).list(limit=1)


def test_the_mode_test_writes_to_a_database_for_tests(speaker: Callable[..., Speaker]) -> None:
    """Every tool is admitted there."""
    assert speaker(mode="TEST", db="data/x.test.db").task()


@pytest.mark.parametrize("mode", ["", "full", "NONE"])
def test_a_mode_that_is_not_there_refuses_to_start(mode: str) -> None:
    """No silent FULL."""
    with pytest.raises(InvalidInput, match="mode"):
        surface("colibri", Settings(mode=mode))


def test_calls_that_another_process_left_are_closed_as_crashed(
    ada: Speaker, workshop: Workshop, tmp_path: Path
) -> None:
    """The next process finds them by the lock that nobody holds any more, and says so."""
    before = workshop.project("")
    gone = before.core(ada.agent.identity)
    left = gone.use(Actions).enter(Asked(tool="task_create", arguments=""))
    ada.does("server_ping")
    assert ada.core.use(Actions).list(outcome="crashed") == []
    before.close()
    after = workshop.project("")
    core = after.core(ada.agent.identity)
    assert (core.use(Actions).sweep(), core.use(Actions).sweep()) == (1, 0)
    [(entered, ended)] = core.use(Actions).list(outcome="crashed")
    assert entered == left
    assert ended.code == after.host.name
    assert core.use(Health).look().crashed == 1
    assert ada.core.use(Health).look().crashed == 0


@pytest.mark.parametrize(
    ("tool", "given", "issue"),
    [
        ("task_create", {}, ("invalid_type", ["title"])),
        ("task_create", {"title": 3}, ("invalid_type", ["title"])),
        ("task_create", {"title": ""}, ("too_small", ["title"])),
        ("task_create", {"title": "x" * 257}, ("too_big", ["title"])),
        ("task_create", {"title": "x", "status": "NONE"}, ("invalid_enum_value", ["status"])),
        ("task_create", {"title": "x", "tile": 1}, ("unrecognized_keys", ["tile"])),
        ("task_list", {"limit": 0}, ("too_small", ["limit"])),
        ("task_list", {"limit": 201}, ("too_big", ["limit"])),
        ("task_list", {"limit": 1.5}, ("invalid_type", ["limit"])),
        ("task_update", {"id": "x", "patch": {"title": 1}}, ("invalid_type", ["patch", "title"])),
        ("task_get", {"id": " x"}, ("custom", ["id"])),
        ("thought_record_list", {"session_id": ""}, ("too_small", ["session_id"])),
        ("thought_record_list", {"task_id": ""}, ("too_small", ["task_id"])),
        ("audit_verify_chain", {"task_id": ""}, ("too_small", ["task_id"])),
        ("audit_verify_chain", {"session_id": ""}, ("too_small", ["session_id"])),
        ("audit_session_start", {"intent": "x", "task_id": ""}, ("too_small", ["task_id"])),
        ("audit_session_start", {"intent": "x", "session_id": ""}, ("too_small", ["session_id"])),
        ("merkle_root", {"session_id": ""}, ("too_small", ["session_id"])),
    ],
)
def test_each_issue_has_the_code_that_zod_gives_it(
    tool: str, given: dict[str, Any], issue: tuple[str, list[str]], ada: Speaker
) -> None:
    """An empty id is none that counts as not given."""
    error = ada.fails(tool, **given)
    assert error["code"] == "INVALID_PARAMS"
    found = [(one["code"], one["path"]) for one in error["details"]["issues"]]
    assert issue in found
