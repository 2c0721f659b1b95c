"""Erasure of every text that any tool of any dialect takes: no byte of it is left anywhere."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest

from builders import AGENT_PROCESS, let_run
from counterpoint.app import open_app
from counterpoint.dialects.registry import surface
from counterpoint.settings import Settings
from fakes.errands import ERRANDS, NAMES, REFERENCES, Office
from fakes.marking import Marks, Place, Scribe, writing

ON_A_SERVER = [name for name in ERRANDS if name != "symphony"]
if os.environ.get("COUNTERPOINT_LONG") != "1":
    # Storage has nothing that differs between them: one stands for all.
    ON_A_SERVER = ["colibri"]

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

MORE = {"colibri": ("--colibri-proofs",)}
"""Flags with which a dialect offers all of its tools."""

FILES: Mapping[str, tuple[str, ...]] = {
    "symphony": ("changed.md", "vault.md", "symphony/data/memory/demo/worker/notes.md")
}
"""Files of the project itself that say what was taken away."""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def held() -> Iterator[ExitStack]:
    """Give what ends the clients of a test."""
    with ExitStack() as stack:
        yield stack


def told(
    name: str, folder: Path, wire: ModuleType, command: Command, held: ExitStack, *more: str
) -> Mapping[str, Place]:
    """Say a word of its own in every text of every tool; answer all words. Its agents stay."""

    def join(*words: str) -> Any:
        asked = (*wire.SERVER, "--surface", name, *MORE.get(name, ()), *more, *words)
        client = wire.Client(folder, (*AGENT_PROCESS, *asked))
        held.callback(client.close)
        client.greet()
        return client

    def person(*words: str) -> None:
        done = command(*words, cwd=folder)
        assert done.returncode == 0, done.stderr

    let_run(folder, **dict(zip((word[2:] for word in more[::2]), more[1::2], strict=True)))
    offered = surface(name, Settings(surface=name, proofs="1" if name == "colibri" else ""))
    scribe = Scribe(surface=name, parts=writing(offered), marks=Marks(), refusal=wire.Refused)
    ERRANDS[name](Office(scribe=scribe, join=join, person=person, folder=folder))
    assert scribe.missing() == REFERENCES[name]
    return scribe.marks.of


def kept_in(folder: Path, words: Mapping[str, Place]) -> dict[str, list[str]]:
    """Answer the words that any entry, or any file below some folders, has in it: where."""
    found: dict[str, list[str]] = {}
    app = open_app(folder, {})
    try:
        for project in app.store.projects():
            with app.store.reading(project.project) as view:
                places = [
                    (f"entry {at} of {project.project}", one)
                    for at, one in enumerate(view.entries())
                ]
            for place, data in places:
                for word in words:
                    if word.encode() in data:
                        found.setdefault(word, []).append(place)
    finally:
        app.close()
    for root in (folder, Path(os.environ["XDG_STATE_HOME"])):
        for file in sorted(root.rglob("*")):
            data = file.read_bytes() if file.is_file() else b""
            for word in words:
                if word.encode() in data:
                    found.setdefault(word, []).append(str(file.relative_to(root)))
    return found


def redacted(
    command: Command, folder: Path, tmp_path: Path, words: Mapping[str, Place], **process: Any
) -> tuple[int, dict[str, Any]]:
    """Have words taken away as a person does; answer the exit code and what is told."""
    options: list[str] = []
    for word in words:
        (tmp_path / word).write_text(word)
        options += ["--text", str(tmp_path / word)]
    done = command(
        "audit", "redact", *options, "--reason", "private", "--json", cwd=folder, **process
    )
    assert done.returncode in {0, 1}, done.stderr
    return done.returncode, json.loads(done.stdout)


def is_name(name: str, place: Place) -> bool:
    """Answer whether what was said there is a name, which stays."""
    return place[2] == ".idempotency_key" or place[1:] in NAMES[name]


@pytest.mark.alike
@pytest.mark.parametrize("name", ERRANDS)
def test_no_word_that_a_tool_took_is_left_but_where_the_command_says_so(
    name: str,
    repository: Path,
    wire: ModuleType,
    counterpoint: Command,
    held: ExitStack,
    tmp_path: Path,
) -> None:
    """Beside connected agents: in no entry, table, log or file; names stay, and are told with the exit code 1."""
    words = told(name, repository, wire, counterpoint, held)
    texts = {word: place for word, place in words.items() if not is_name(name, place)}
    names = {word: place for word, place in words.items() if is_name(name, place)}
    assert kept_in(repository, words)
    (tmp_path / "texts").mkdir()
    if name == "symphony":
        # What was moved there was copied; the files of the project are its own.
        env = {**os.environ, "COUNTERPOINT_PROJECT": "other"}
        code, answer = redacted(counterpoint, repository, tmp_path / "texts", texts, env=env)
        assert (code, "project demo" in answer["left"]) == (1, True)
    code, answer = redacted(counterpoint, repository, tmp_path / "texts", texts)
    assert answer["left"] == [f"file {file}" for file in FILES.get(name, ())]
    assert code == bool(answer["left"])
    left = kept_in(repository, texts)
    assert {one for where in left.values() for one in where} == set(FILES.get(name, ()))
    (tmp_path / "names").mkdir()
    code, answer = redacted(counterpoint, repository, tmp_path / "names", names)
    assert code == 1
    for word, where in kept_in(repository, names).items():
        # The receipt that tells of a file which is named so has the word too.
        is_file_name = any(word in one for one in answer["left"])
        for one in where:
            place, _, project = one.partition(" of ")
            told_of = {f"file {one}", place if project == "demo" else f"project {project}"}
            assert told_of & set(answer["left"]) or is_file_name
    assert counterpoint("audit", "verify", cwd=repository).returncode == 0


def raw_files(address: str) -> dict[str, bytes]:
    """Answer the files of a database and of its statistics, less what its server notes for itself."""
    with psycopg.connect(address, autocommit=True) as link:
        link.execute("CHECKPOINT")
        (folder,) = link.execute("SHOW data_directory").fetchone() or ("",)
        (number,) = link.execute(
            "SELECT oid FROM pg_database WHERE datname = current_database()"
        ).fetchone() or (0,)
    files = Path(folder, "base", str(number)).iterdir()
    return {file.name: file.read_bytes() for file in files if file.is_file()}


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", ON_A_SERVER)
def test_no_word_that_a_tool_took_is_left_on_a_server(
    name: str,
    repository: Path,
    wire: ModuleType,
    counterpoint: Command,
    held: ExitStack,
    tmp_path: Path,
    databases: Any,
) -> None:
    """In no table and no data file of PostgreSQL, its statistics too; agents go on beside it."""
    address = databases.empty()
    held.callback(databases.drop, address)
    words = told(name, repository, wire, counterpoint, held, "--db", address)
    texts = {word: place for word, place in words.items() if not is_name(name, place)}
    with psycopg.connect(address, autocommit=True) as link:
        link.execute("ANALYZE")
    assert any(b"zqx" in data for data in raw_files(address).values())
    env = {**os.environ, "COUNTERPOINT_DB": address}
    code, answer = redacted(counterpoint, repository, tmp_path, texts, env=env)
    assert (code, answer["left"]) == (0, [])
    found = {
        (file, *words[word][1:])
        for file, data in raw_files(address).items()
        for word in texts
        if word.encode() in data
    }
    assert found == set()
    assert counterpoint("audit", "verify", cwd=repository, env=env).returncode == 0
