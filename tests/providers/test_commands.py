"""Command lines of agents as providers, by programs that print what these print."""

from __future__ import annotations

import json
import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.model.models import (
    Message,
    Modelling,
    Question,
    SaidProvider,
    Tokens,
    make_question,
)
from counterpoint.kernel.errors import (
    ProviderAway,
    ProviderFailed,
    ProviderRefused,
    ProviderTimedOut,
    QuestionTooLong,
    Unavailable,
)
from counterpoint.providers.chat import commands
from counterpoint.providers.chat.commands import CommandLine
from counterpoint.providers.chat.opening import open_models

CLAUDE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "forty",
    "total_cost_usd": 0.0125,
    "usage": {
        "input_tokens": 3,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 2,
        "output_tokens": 4,
    },
}
CODEX = (
    {"type": "thread.started", "thread_id": "1"},
    {"type": "item.completed", "item": {"id": "0", "type": "reasoning", "text": "hm"}},
    {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "forty"}},
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 10, "cached_input_tokens": 2, "output_tokens": 4},
    },
)
OPENCODE = (
    {"type": "step_start", "part": {"type": "step-start"}},
    {"type": "text", "part": {"type": "text", "text": "forty"}},
)
KEY = "ghp_" + "a1B2" * 9
COUNTED = Tokens(input=10, cached=2, output=4)


@pytest.fixture
def program(tmp_path: Path) -> Any:
    """Answer what makes a program of a shell's words, and asks it."""

    def make(
        body: str,
        *more: str,
        question: Question | None = None,
        listen: Any = None,
        **variables: str,
    ) -> Any:
        path = tmp_path / "agent"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(stat.S_IRWXU)
        environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **variables}
        line = CommandLine(provider="agent", words=("agent", *more), environ=environ)
        return line.ask(question or make_question("what?", model="m-1"), listen or (lambda _: None))

    return make


@pytest.mark.parametrize(
    ("printed", "tokens", "cost"),
    [
        (json.dumps(CLAUDE), COUNTED, 12_500),
        (json.dumps({"response": "forty", "stats": {}}), Tokens(), -1),
        ("\n".join(map(json.dumps, CODEX)), COUNTED, -1),
        ("\n".join(map(json.dumps, OPENCODE)), Tokens(), -1),
        ("forty", Tokens(), -1),
    ],
    ids=["claude", "gemini", "codex", "opencode", "text"],
)
def test_what_agents_print_is_read(
    printed: str, tokens: Tokens, cost: int, program: Any, tmp_path: Path
) -> None:
    """A result, events, or the text itself; with what it took, as far as that is told."""
    (tmp_path / "said").write_text(printed)
    answer = program(f"cat '{tmp_path}/said'")
    assert (answer.text, answer.tokens, answer.cost_micros) == ("forty", tokens, cost)


@pytest.mark.parametrize("dollars", ["1e300", "-5", "NaN"])
def test_what_no_answer_costs_is_not_believed(dollars: str, program: Any) -> None:
    """It is worked out of tokens then, or unknown; what is no JSON is a text."""
    printed = json.dumps(CLAUDE | {"total_cost_usd": 0.5}).replace("0.5", dollars)
    assert program(f"printf '%s' '{printed}'").cost_micros == -1
    assert program("head -c 200000 /dev/zero | tr '\\0' '['").text.startswith("[[")


def test_a_question_comes_on_the_input_or_as_a_word(program: Any) -> None:
    """With all its turns and what is said of its form, which these programs take as text."""
    turns = (Message(role="user", text="One?"), Message(role="assistant", text="Two."))
    question = Question(messages=turns, system="Count.", model="m-1", schema={"type": "object"})
    by_input = program("cat", question=question).text
    assert by_input.startswith("Count.\n\nuser: One?\n\nassistant: Two.\n\nAnswer with JSON alone")
    assert by_input.endswith('{"type": "object"}')
    assert program('printf "%s|" "$@"', "-m", "{model}", "{prompt}").text == "-m|m-1|what?|"


def test_what_is_asked_is_never_an_option_of_the_program(program: Any) -> None:
    """Neither the question nor the model."""
    said = program(
        'printf "%s|" "$@"', "{prompt}", question=make_question("--yolo", model="m-1")
    ).text
    assert said == " --yolo|"
    with pytest.raises(ProviderRefused, match="no name of a model"):
        program("true", "--model", "{model}", question=make_question("?", model="--yolo"))


def test_a_program_sees_its_login_and_no_secret_and_nothing_of_the_project(program: Any) -> None:
    """It works in an empty folder, which is gone afterwards."""
    answer = program(
        "env; pwd; ls -A | wc -l",
        HOME="/home/ada",
        OPENAI_API_KEY="k" * 20,
        SSH_AUTH_SOCK="/s",
        XDG_RUNTIME_DIR="/r",
    )
    lines = answer.text.splitlines()
    assert "HOME=/home/ada" in lines
    assert not any(
        line.startswith(("OPENAI_API_KEY", "SSH_AUTH_SOCK", "XDG_RUNTIME")) for line in lines
    )
    assert lines[-1].strip() == "0"
    assert not Path(lines[-2]).exists()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("echo no login >&2; exit 3", "ended with 3: no login"),
        (f"echo key {KEY} is wrong >&2; exit 3", r"ended with 3: key \[secret\] is wrong"),
        (f"""echo '{{"is_error": true, "result": "{KEY} is wrong"}}'""", r"says: \[secret\] is"),
        ("true", "printed no answer"),
        ("""echo '{"is_error": true, "result": "Credit is too low"}'""", "Credit is too low"),
        ("""echo '{"result": 1}'""", "something else than an answer"),
        ("""echo '{"strange": 1}'""", "something else than an answer"),
    ],
)
def test_a_program_that_fails_is_told(body: str, why: str, program: Any) -> None:
    """By what it says of it."""
    with pytest.raises(ProviderFailed, match=why):
        program(body)


def test_an_answer_without_a_text_keeps_what_it_cost(program: Any) -> None:
    """It is refused where it is charged, as that of every provider."""
    answer = program("""echo '{"result": "", "total_cost_usd": 0.5}'""")
    assert (answer.text, answer.cost_micros) == ("", 500_000)


def test_a_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    """With why; a question that is too long to be a word of a command is told as that."""
    path = tmp_path / "agent"
    path.write_text("#!/nowhere/sh\n")
    path.chmod(stat.S_IRWXU)
    line = CommandLine(provider="agent", words=(str(path), "{prompt}"), environ={})
    with pytest.raises(ProviderFailed, match="agent cannot be started: No such file"):
        line.ask(make_question("what?"), lambda _: None)
    with pytest.raises(QuestionTooLong, match="too long to be a word"):
        line.ask(make_question("x" * 3_000_000), lambda _: None)


def test_a_program_that_hangs_is_ended_with_what_it_started(program: Any, tmp_path: Path) -> None:
    """After the time of the question."""
    fifo = tmp_path / "never"
    os.mkfifo(fifo)
    with pytest.raises(ProviderTimedOut):
        program(
            f"cat '{fifo}' & echo $! > '{tmp_path}/child'; wait",
            question=make_question("?", timeout=0.3),
        )
    child = int((tmp_path / "child").read_text())
    # Its number may be seen until somebody has waited for it: then it runs no more.
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] in {"Z", "X"}


def test_who_waits_for_a_program_may_go(
    program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked each second, and the program is ended."""
    monkeypatch.setattr(commands, "TICK", 0.01)
    fifo = tmp_path / "never"
    os.mkfifo(fifo)

    def gone(_: str) -> None:
        raise Unavailable("gone")

    with pytest.raises(Unavailable, match="gone"):
        program(f"cat '{fifo}'", listen=gone)


def test_more_than_is_taken_is_no_answer(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that prints without an end fills no memory; what was cut is not taken for the whole."""
    monkeypatch.setattr(commands, "LARGEST", 10)
    assert program("printf 0123456789").text == "0123456789"
    with pytest.raises(ProviderFailed, match="more than 10 bytes"):
        program("echo 0123456789abcdef")


def test_what_is_left_of_a_program_keeps_its_answer_from_nobody(
    program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a server that the program began in a session of its own, which holds what it prints to."""
    monkeypatch.setattr(commands, "TICK", 0.05)
    fifo, there = tmp_path / "never", tmp_path / "there"
    os.mkfifo(fifo)
    os.mkfifo(there)
    begun = f"""setsid sh -c 'echo $$ > "{there}"; exec cat "{fifo}"' & read -r child < "{there}"; echo "$child is there" """
    said = program(begun).text.split()
    try:
        assert said[1:] == ["is", "there"]
    finally:
        os.kill(int(said[0]), signal.SIGKILL)


def test_a_project_names_a_program_and_hears_whether_it_is_installed(tmp_path: Path) -> None:
    """By the words that a person has trusted."""
    path = tmp_path / "agent"
    path.write_text("#!/bin/sh\ncat\n")
    path.chmod(stat.S_IRWXU)
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "XDG_CONFIG_HOME": str(tmp_path)}
    there = SaidProvider(name="mine", command=("agent",))
    away = SaidProvider(name="away", kind="command", command=("not-installed-anywhere",))
    bare = SaidProvider(name="bare", kind="command")
    desk = open_models(lambda: Modelling(providers=(there, away, bare)), environ)
    found = {one.name: one for one in desk.providers()}
    assert (found["mine"].kind, found["mine"].is_free, found["mine"].reason) == (
        "command",
        True,
        "",
    )
    assert desk.ask(found["mine"], make_question("hello"), print).text == "hello"
    assert "is not installed" in found["away"].reason
    assert "names no command" in found["bare"].reason
    with pytest.raises(ProviderAway):
        CommandLine(provider="x", words=("not-installed-anywhere",), environ=environ).ask(
            make_question("?"), print
        )
