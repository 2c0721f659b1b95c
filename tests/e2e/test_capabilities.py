"""Sessions, claims and continuations are capabilities: every client has the same name, and no session is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import open_app
from fakes.callers import CLIENT, Caller, Server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

PROGRAM = Path(__file__).parent / "programs" / "agent.py"
PLAN = "# Orchard\n## Planting\n- review: yes\n- [ ] Walnut\n- [ ] Pear\n"
PATIENCE = 60.0
THOUGHT = {"type": "plan", "agent_id": CLIENT, "content": "I think"}
OF_PLANS: tuple[tuple[str, dict[str, str]], ...] = (
    ("session_log", {"message": "I was here"}),
    ("session_artifact", {"path": "a.py", "action": "created"}),
    ("session_handoff", {"summary": "given away"}),
    ("session_end", {"status": "completed"}),
    ("session_continue", {}),
)
"""What agentic tools do with a session that a call names."""
OF_PROOFS: tuple[tuple[str, dict[str, str]], ...] = (
    ("thought_record", THOUGHT),
    ("merkle_finalize", {}),
    ("audit_session_abandon", {"reason": "mine"}),
)
"""The same of colibri."""


class Window:
    """A window of the one client that everybody has: a process of its own, and what it starts."""

    def __init__(self, folder: Path, *words: str, **environ: str) -> None:
        """Start it in a folder, and let it connect as any client does."""
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM)],
            cwd=folder,
            env={**os.environ, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.connect(*words)

    def connect(self, *words: str) -> None:
        """Connect, or connect anew."""
        self._order(connect="main", words=words)

    def _order(self, **order: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def does(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        told = self._order(call="main", tool=tool, arguments=arguments)
        assert "answer" in told, told
        return told["answer"]

    def is_refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must be refused; answer the whole refusal as text."""
        told = self._order(call="main", tool=tool, arguments=arguments)
        assert "refused" in told, told
        return json.dumps(told["refused"])

    def hears(self, tool: str, **arguments: Any) -> str:
        """Call a tool; answer what came of it as text, in whichever form a dialect refuses."""
        return json.dumps(self._order(call="main", tool=tool, arguments=arguments))

    def runs(self, *words: str) -> dict[str, Any]:
        """Run the command line from a shell of its own; answer what it says as JSON."""
        ran = self.tries(*words)
        assert ran["code"] == 0, ran
        return json.loads(ran["out"])

    def tries(self, *words: str) -> dict[str, Any]:
        """Run the command line from a shell of its own; answer its exit code and what it says."""
        return self._order(run=[sys.executable, "-m", "counterpoint", *words])

    @property
    def session(self) -> str:
        """Its session, as everybody can read it."""
        return self.does("brief")["you"]["session"]

    def claims(self, item: str) -> dict[str, Any]:
        """Take a task up; answer how its claim is proved."""
        started = self.does("start", id=item)
        return {"id": item, "token": started["claim"]["token"]}

    def die(self) -> None:
        """Be killed, with all that it has started."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def close(self) -> None:
        """End, unless it was killed."""
        if self._process.returncode is None:
            self._process.communicate(timeout=PATIENCE)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the user's state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def open_window(repository: Path, state: Path) -> Iterator[Callable[..., Window]]:
    """Give what opens windows in the repository."""
    del state
    with ExitStack() as held:

        def start(*words: str, **environ: str) -> Window:
            window = Window(repository, *words, **environ)
            held.callback(window.close)
            return window

        yield start


def test_the_session_of_another_and_the_token_of_his_claim_prove_nothing(
    where: str, open_window: Callable[..., Window]
) -> None:
    """Both stand in the ledger for everybody to read; the one who holds the task finishes it."""
    del where
    victim = open_window()
    victim.does("plan", markdown=PLAN)
    claim = victim.claims("demo-3")
    thief = open_window("--session", victim.session)
    done = {**claim, "outcome": "done", "summary": "Mine now"}
    assert "is that of claude-code" in thief.is_refused("finish", **done)
    assert "is that of" in thief.is_refused("note", kind="comment", text="I was here")
    assert "is that of" in thief.is_refused("start", id="demo-3")
    assert "is that of" in thief.is_refused("handoff", action="end", summary="bye")
    assert victim.does("finish", **{**done, "summary": "It stands"})["item"]["status"] == "done"


@pytest.mark.long
def test_a_live_session_is_continued_by_nobody_and_nothing_of_it_is_ended_in_passing(
    where: str, open_window: Callable[..., Window]
) -> None:
    """The refusals name who holds it, until when, and the person's way; the person goes it."""
    del where
    victim, other = open_window(), open_window()
    victim.does("plan", markdown=PLAN)
    victim.claims("demo-3")
    refusal = other.is_refused("handoff", action="continue", session=victim.session)
    assert "held by claude-code until" in refusal
    assert "counterpoint release" in refusal
    assert "held by claude-code" in other.is_refused("start", id="demo-3")
    for item in ("demo-1", "demo-2", "demo-3"):
        refusal = other.is_refused("edit", id=item, status="cancelled", reason="mine")
        assert "demo-3 is held by claude-code" in refusal
        assert "counterpoint release" in refusal
    # Nor from a shell of its own, where it would pass for whoever sits there.
    other.does("note", kind="comment", text="I am here")
    shell = other.tries("reopen", "demo-3", "--reason", "mine")
    assert (shell["code"], "claude-code holds it" in shell["err"]) == (1, True), shell
    victim.does("handoff", action="pause", summary="Lunch")
    taken = other.does("handoff", action="continue", session=victim.session)
    assert taken["session"]["continues"] == victim.session
    victim.is_refused("finish", id="demo-3", token=1, outcome="done", summary="late")


def test_two_windows_of_one_client_write_in_no_session_of_each_other(
    where: str, open_window: Callable[..., Window]
) -> None:
    """In the dialect of plans, where a tool takes the session that is meant."""
    del where
    first, second = open_window("--surface", "agentic"), open_window("--surface", "agentic")
    mine = first.does("session_start", agent_type="opus")["session"]["session_id"]
    told = {"session_id": mine}
    for tool, more in OF_PLANS:
        assert "is that of claude-code" in second.is_refused(tool, **told, **more)
    assert first.does("session_log", message="still mine", **told)["logged"] == "still mine"
    first.does("session_handoff", summary="yours")
    assert second.does("session_resume", **told)["session"]["status"] == "active"
    assert "is that of" in first.is_refused("session_log", message="late", **told)


def test_nobody_thinks_seals_or_frees_in_the_session_of_another(
    where: str, open_window: Callable[..., Window]
) -> None:
    """In the dialect of proofs, whatever agent a call names."""
    del where
    words = ("--surface", "colibri", "--colibri-proofs")
    first, second = open_window(*words), open_window(*words)
    task = first.does("task_create", title="T")["data"]["id"]
    session = first.does("audit_session_start", intent="look", task_id=task)["data"]["session_id"]
    thought = THOUGHT | {"task_id": task}
    for tool, more in OF_PROOFS:
        about = thought if tool == "thought_record" else more
        assert "is that of claude-code" in second.hears(tool, session_id=session, **about)
    first.does("thought_record", session_id=session, **thought)
    assert first.does("merkle_finalize", session_id=session)["data"]["session_id"] == session


def test_an_agents_name_is_a_label_and_a_task_is_ended_by_whose_it_is(
    where: str, open_window: Callable[..., Window]
) -> None:
    """In the dialect of workflows: the log tells the name of the connection and its principal."""
    del where
    first, second = (open_window("--surface", "workflow") for _ in range(2))
    flow = first.does("start_workflow", name="W", objective="o", profile="simple")["workflow_id"]
    phase = first.does("start_phase", workflow_id=flow, number=1, name="P")["phase_id"]
    named = {"caller_type": "subagent", "agent_name": "somebody-else", "name": "T", "goal": "g"}
    task = first.does("start_task", workflow_id=flow, phase_id=phase, **named)["task_id"]
    ends = {"task_id": task, "status": "success", "outcome": {"summary": "s"}}
    assert "held by claude-code" in second.is_refused("complete_task", **ends)
    first.does("complete_task", **ends)
    acts = [
        entry["actor"]
        for entry in first.runs("log", "--json")["entries"]
        if entry["actor"]["kind"] == "agent"
    ]
    assert {actor["name"] for actor in acts} == {CLIENT}
    assert len({actor["principal"]["id"] for actor in acts}) == 1


def test_a_client_that_is_started_again_goes_on_and_judges_nothing_that_it_did(
    where: str, open_window: Callable[..., Window], state: Path
) -> None:
    """Killed with its relay; its own session is known by what it says of itself, and by a secret."""
    del where
    same = {"CLAUDE_CODE_SESSION_ID": "0b7e"}
    before = open_window(**same)
    before.does("plan", markdown=PLAN)
    before.does("finish", **before.claims("demo-3"), outcome="done", summary="It stands")
    claim, session = before.claims("demo-4"), before.session
    noted = {"kind": "comment", "text": "It stands", "idempotency_key": "said-1"}
    said = before.does("note", **noted)
    before.die()
    again = open_window(**same)
    assert again.session == session
    assert again.does("note", **noted) == said
    again.does("finish", **claim, outcome="done", summary="It stands too")
    refusal = again.is_refused("review", id="demo-2", verdict="approve", reason="fine")
    assert "worked on demo-2" in refusal
    files = [*(state / "counterpoint" / "sessions").iterdir()]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    kept = [file.read_text() for file in files]
    (entry,) = [
        entry
        for entry in again.runs("log", "--json", "--limit", "100")["entries"]
        if "succeeds" in entry["facts"]
    ]
    assert entry["actor"]["principal"]["id"] != entry["facts"]["succeeds"]
    log = json.dumps(again.runs("log", "--json", "--limit", "100"))
    assert not [text for text in kept if text.partition(" ")[0] in log]


@pytest.mark.long
def test_an_idempotency_key_belongs_to_who_used_it(
    where: str, open_window: Callable[..., Window]
) -> None:
    """Another window of the same name neither reads an answer by its key nor leaves one in its place."""
    del where
    first, second = open_window(), open_window()
    asked = {"kind": "comment", "text": "mine", "idempotency_key": "import-1"}
    said = first.does("note", **asked)
    assert second.does("note", **asked)["record"]["id"] != said["record"]["id"]
    second.does("note", **asked | {"idempotency_key": "import-2"})
    mine = first.does("note", **asked | {"text": "mine too", "idempotency_key": "import-2"})
    assert first.does("note", **asked) == said != mine


def test_a_second_window_that_says_the_same_of_itself_is_another_one(
    open_window: Callable[..., Window],
) -> None:
    """As long as the first one lives: the file of the secret is locked."""
    same = {"CLAUDE_CODE_SESSION_ID": "0b7e"}
    first, second = open_window(**same), open_window(**same)
    first.does("plan", markdown=PLAN)
    claim = first.claims("demo-3")
    assert first.session != second.session
    done = {**claim, "outcome": "done", "summary": "mine"}
    second.is_refused("finish", **done)
    first.does("finish", **done)


def test_a_relay_and_a_server_that_are_started_again_change_nothing(
    open_window: Callable[..., Window], counterpoint: Callable[..., Any], repository: Path
) -> None:
    """The connection shows its secret to the next server, which finds the session."""
    window = open_window()
    window.does("plan", markdown=PLAN)
    claim, session = window.claims("demo-3"), window.session
    assert counterpoint("down", cwd=repository).returncode == 0
    assert window.session == session
    window.does("finish", **claim, outcome="done", summary="It stands")


@pytest.mark.parametrize(("grace", "is_waiting"), [("", True), ("0", False)])
def test_others_take_over_from_who_is_gone_after_the_time_of_grace(
    open_window: Callable[..., Window],
    monkeypatch: pytest.MonkeyPatch,
    grace: str,
    is_waiting: bool,
) -> None:
    """A minute, or as the server's settings say; nobody shortens it for himself."""
    if grace:
        monkeypatch.setenv("COUNTERPOINT_GRACE_SECONDS", grace)
    first, second = open_window(), open_window(COUNTERPOINT_GRACE_SECONDS="0")
    first.does("plan", markdown=PLAN)
    first.claims("demo-3")
    second.is_refused("start", id="demo-3")
    first.die()
    if is_waiting:
        assert "held by" in second.is_refused("start", id="demo-3")
        return
    told = second.hears("start", id="demo-3")
    for _ in range(100):
        # The server learns of the end a moment after the kernel.
        if "refused" not in told:
            break
        told = second.hears("start", id="demo-3")
    assert json.loads(told)["answer"]["claim"]["token"] == 2
    assert "worked on" in second.is_refused("review", id="demo-2", verdict="approve", reason="fine")


@pytest.fixture
def server(
    where: str, repository: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Server]:
    """Give a server over HTTP, with every tool of colibri."""
    del where, state
    monkeypatch.setenv("COUNTERPOINT_PROOFS", "1")
    made = open_app(repository, os.environ)
    assert made.ports
    made.close()
    started = Server(repository)
    yield started
    started.close()


@pytest.mark.alike
@pytest.mark.parametrize("tokens", ["none", "one", "two"])
def test_headers_with_anothers_name_and_session_do_nothing(
    server: Server, counterpoint: Callable[..., Any], repository: Path, tokens: str
) -> None:
    """With no token, with the same and with another one: no write, no end of his work or session."""

    def make(name: str) -> str:
        return counterpoint("token", "create", name, cwd=repository).stdout.strip()

    first = "" if tokens == "none" else make("first")
    second = make("second") if tokens == "two" else first
    label = {} if tokens == "two" else {"counterpoint_agent": "ada"}
    victim = Caller(server, first, **label)
    victim.does("plan", markdown=PLAN)
    victim.does("start", id="demo-3")
    session = victim.does("brief")["you"]["session"]
    done = {"id": "demo-3", "token": 1, "outcome": "done", "summary": "Mine now"}
    thief = Caller(server, second, **label)
    bare: dict[str, str] = {"mcp_session_id": ""}
    for headers in (
        {},
        {"counterpoint_session": session},
        {**bare, "counterpoint_session": session},
    ):
        for tool, asked in (
            ("note", {"kind": "comment", "text": "I was here"}),
            ("finish", done),
            ("handoff", {"action": "end", "summary": "bye"}),
        ):
            if tool != "finish" and not headers:
                continue
            result = thief.call(tool, headers, **asked)
            assert result["isError"], (headers, tool, result)
    assert victim.does("finish", **{**done, "summary": "It stands"})["item"]["status"] == "done"
    assert victim.does("brief")["you"]["session"] == session


def test_a_session_that_a_call_names_over_http_is_that_of_its_connection_alone(
    server: Server, counterpoint: Callable[..., Any], repository: Path
) -> None:
    """Nobody else writes in it, hands it on or ends his claims, with the same token as little as with another."""
    shared, other = (
        counterpoint("token", "create", name, cwd=repository).stdout.strip()
        for name in ("shared", "other")
    )

    def callers(surface: str) -> tuple[Caller, list[Caller]]:
        opened = [Caller(server, token, surface) for token in (shared, shared, other)]
        return opened[0], opened[1:]

    planning, thieves = callers("agentic")
    opened = planning.does("session_start", agent_type="opus")["session"]
    told = {"session_id": opened["session_id"]}
    for thief in thieves:
        for tool, more in OF_PLANS:
            assert "is that of" in thief.is_refused(tool, **told, **more), tool
    assert planning.does("session_log", message="still mine", **told)["logged"] == "still mine"

    proving, thieves = callers("colibri")
    task = proving.does("task_create", title="T")["data"]["id"]
    about = {"intent": "look", "task_id": task}
    session = proving.does("audit_session_start", **about)["data"]["session_id"]
    for thief in thieves:
        for tool, more in OF_PROOFS:
            words = more | ({"task_id": task} if tool == "thought_record" else {})
            assert "is that of" in thief.hears(tool, session_id=session, **words), tool
    proving.does("thought_record", session_id=session, task_id=task, **THOUGHT)

    holder, thieves = callers("")
    root = holder.does("plan", markdown="# Orchard\n## Planting\n- [ ] Walnut\n")["root"]
    items = [root, *(f"demo-{int(root.split('-')[1]) + place}" for place in (1, 2))]
    token = holder.does("start", id=items[2])["claim"]["token"]
    for thief in thieves:
        for item in items:
            for status in ("cancelled", "skipped"):
                words = {"id": item, "status": status, "reason": "mine"}
                refusal = thief.is_refused("edit", **words)
                assert "held by" in refusal, refusal
    done = {"id": items[2], "token": token, "outcome": "done", "summary": "It stands"}
    assert holder.does("finish", **done)["item"]["status"] == "done"


def test_what_follows_an_ended_session_is_known_to_its_own_connection_alone(
    server: Server,
) -> None:
    """Its id comes from chance, not from the one before; the same connection goes on in it.

    Of a connection that the server did not make the client hears that it is to shake hands anew.
    """
    caller, other = Caller(server), Caller(server)
    caller.does("plan", markdown=PLAN)
    began = caller.does("brief")["you"]["session"]
    caller.does("handoff", action="end", summary="bye")
    later = caller.does("brief")["you"]["session"]
    caller.does("start", id="demo-3")
    assert caller.does("brief")["you"]["session"] == later != began
    # Whoever asks for it before it is written in, or names one that nobody made, gets none.
    refused = other.call("brief", {"counterpoint_session": later})
    unknown = other.call("brief", {"counterpoint_session": "ses_" + "7" * 26})
    assert refused["isError"]
    assert unknown["isError"]
    listing: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    _, answer = server.send(listing, mcp_session_id="guess", authorization=f"Bearer {server.token}")
    assert answer["error"] == "unknown_session"
