"""Files of specs that are kept in the background, by several processes of which some are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from builders import open_repository
from counterpoint.app import App, open_app
from counterpoint.cli.checks.mirrored import look
from counterpoint.cli.server.background import Checkpoints, Mirrors
from counterpoint.core.model.filters import Edit
from counterpoint.dialects.foundry.documents.operations import Importing
from counterpoint.dialects.foundry.specs.operations import Specs
from fakes.spec_documents import document

SPEC = "demo-2026-01-02-001"

_WRITERS = """
import os, sys, threading
from pathlib import Path
from counterpoint.app import Identity, open_app
from counterpoint.cli.server.background import Mirrors
from counterpoint.core.model.filters import Edit

first, count = int(sys.argv[1]), int(sys.argv[2])
app = open_app(Path.cwd(), os.environ)
app.ports
mirrors = Mirrors()
mirrors.tend(app)
print("ready", flush=True)
sys.stdin.readline()

def work(number):
    core = app.core(Identity(kind="agent", name=f"w{number}"))
    for task in range(number * 5 + 1, number * 5 + 6):
        item = core.items.find(f"demo-2026-01-02-001/task-1-{task}", "node").id
        core.items.edit(item, Edit(status="active"))
        core.items.edit(item, Edit(status="done"))
        os.write(1, b"%d\\n" % task)

writers = [threading.Thread(target=work, args=(one,)) for one in range(first, first + count)]
for one in writers:
    one.start()
for one in writers:
    one.join()
print("done", flush=True)
sys.stdin.readline()
mirrors.close()
app.close()
"""


@pytest.fixture
def app(tmp_path: Path) -> Any:
    """Give the app of a project with a folder of specs and one spec of 80 tasks, mirrored."""
    folder = open_repository(tmp_path / "demo")
    (folder / "specs").mkdir()
    opened = open_app(folder, os.environ)
    opened.itself().use(Importing).make(document(1, 80))
    look(opened)
    yield opened
    opened.close()


def start(app: App, first: int, count: int) -> subprocess.Popen[str]:
    """Start a process with some writers, and wait until it could write."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITERS, str(first), str(count)],
        cwd=app.places.home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def read(app: App) -> Any:
    """Answer what the file of the spec says, in whatever folder it is at this moment."""
    specs = app.places.home / "specs"
    for _ in range(100):
        for file in specs.glob(f"*/{SPEC}.json"):
            try:
                return json.loads(file.read_bytes())
            except FileNotFoundError:
                continue  # it was moved to another folder just now
    raise AssertionError("there is no file of the spec")


def test_sixteen_writers_lose_nothing_and_the_file_is_whole(app: App):
    """In three processes that all mirror, of which one is killed while it works."""
    processes = [start(app, 0, 6), start(app, 6, 5), start(app, 11, 5)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    victim = processes.pop()
    looked = 0
    told: list[str] = []
    assert victim.stdout is not None
    for _ in range(5):
        told.append(victim.stdout.readline().strip())
        read(app)
        looked += 1
    victim.kill()
    told += [line.strip() for line in victim.stdout if line.strip().isdigit()]
    for process in processes:
        assert process.stdout is not None
        while (line := process.stdout.readline()) != "done\n":
            told.append(line.strip())
            read(app)
            looked += 1
    for process in processes:
        process.communicate("end\n", timeout=60)
        assert process.returncode == 0
    victim.communicate()
    assert looked > 50
    look(app)
    assert read(app) == app.itself().use(Specs).document(SPEC)
    nodes = read(app)["hierarchy"]
    done = {name for name, one in nodes.items() if one["status"] == "completed"}
    assert {f"task-1-{one}" for one in told if one.isdigit()} <= done
    assert not list((app.places.home / "specs").rglob("*.part"))


def test_what_others_changed_is_in_the_file_when_it_ends(app: App):
    """A server looks once more before it leaves."""
    checkpoints = Checkpoints()
    checkpoints.mirrors.tend(app)
    item = app.itself().items.find(f"{SPEC}/task-1-1", "node")
    assert item is not None
    app.itself().items.edit(item.id, Edit(title="Last"))
    assert checkpoints.close()
    assert read(app)["hierarchy"]["task-1-1"]["title"] == "Last"


def test_an_edit_is_the_word_of_an_agent_whom_nothing_attests(app: App):
    """So it may decide nothing that only people may."""
    item = app.itself().items.find(f"{SPEC}/task-1-1", "node")
    assert item is not None
    file = app.places.home / "specs" / "pending" / f"{SPEC}.json"
    made = read(app)
    made["hierarchy"]["task-1-1"]["title"] = "Edited"
    file.write_text(json.dumps(made))
    look(app)
    entry = app.itself().audit.log(subject=item.id, limit=1)[0]
    assert (entry.actor.kind, entry.actor.name) == ("agent", "file")


def test_what_cannot_be_written_is_said_once(app: App, caplog: pytest.LogCaptureFixture):
    folder = app.places.home / "specs"
    (folder / "pending" / f"{SPEC}.json").unlink()
    (folder / "pending").rmdir()
    (folder / "pending").write_text("a file in the way")
    mirrors = Mirrors()
    mirrors.tend(app)
    mirrors.look()
    mirrors.look()
    assert mirrors.close()
    assert caplog.text.count("Files of specs are not kept") == 1
    (folder / "pending").unlink()
    look(app)
    assert read(app)["spec_id"] == SPEC


_COUNTED = """
import gc, os, signal, sys, threading
from pathlib import Path
from counterpoint.app import Identity, open_app
from counterpoint.cli.server.serving import serve
from counterpoint.cli.server.background import Mirrors
from counterpoint.core.model.filters import Edit

def end():
    os.read(listens, 1)
    os.kill(os.getpid(), signal.SIGTERM)

listens, ready = os.pipe()
threading.Thread(target=end).start()
serve(open_app(Path.cwd(), os.environ), ready)
os.chdir(sys.argv[1])
app = open_app(Path.cwd(), os.environ)
core = app.core(Identity(kind="agent", name="ada"))
mirrors = Mirrors()
mirrors.tend(app)
core.items.edit(core.items.find("demo-2026-01-02-001/task-1-1", "node").id, Edit(title="Edited"))
before = gc.get_stats()
mirrors.look()
after = gc.get_stats()
print([new["collections"] - old["collections"] for old, new in zip(before, after)])
mirrors.close()
app.close()
"""


def test_a_server_searches_seldom_for_garbage_while_it_writes_a_large_file(tmp_path: Path):
    """All that it makes for that is in use until the file is there: to search it again and again took half of the time."""
    folder = open_repository(tmp_path / "large")
    (folder / "specs").mkdir()
    app = open_app(folder, {})
    app.person().use(Importing).make(document(20, 100))
    look(app)
    app.close()
    done = subprocess.run(
        [sys.executable, "-c", _COUNTED, str(folder)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    young, older, oldest = json.loads(done.stdout)
    assert (older, oldest) == (0, 0)
    assert young < 10
    assert (
        json.loads((folder / "specs" / "pending" / f"{SPEC}.json").read_text())["hierarchy"][
            "task-1-1"
        ]["title"]
        == "Edited"
    )
