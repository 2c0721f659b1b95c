"""Lists from the wheel or in the cache: written once for each state of the source."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from counterpoint.cli.main import run
from counterpoint.cli.server.listings import listing_of
from counterpoint.dialects import registry
from counterpoint.kernel import listing_cache
from counterpoint.kernel.listing_cache import cache_folder, find_listing, protocol_packages


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Give what the relay has run, here in place of in another process."""
    calls: list[list[str]] = []

    def spawn(_program: str, words: list[str], *_: object, **__: object) -> int:
        calls.append(words[4:])
        assert run(words[4:]) == 0
        return 0

    monkeypatch.setattr(os, "posix_spawn", spawn)
    monkeypatch.setattr(os, "waitpid", lambda *_: (0, 0))
    return calls


def test_a_list_is_worked_out_once_and_then_read(tmp_path, spawned):
    """It is what a real server answers."""
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    first = find_listing("workflow", environ)
    assert first == json.loads(json.dumps(listing_of("workflow")))
    assert find_listing("workflow", environ) == first
    assert len(spawned) == 1
    assert spawned[0][0] == "listings"
    (folder,) = (tmp_path / "counterpoint").iterdir()
    assert [path.name for path in folder.glob("*.json")] == ["workflow.json"]


def test_agents_that_begin_at_once_have_a_list_worked_out_once(tmp_path, monkeypatch):
    """The others wait for it, and read what the first has had written."""
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    calls: list[str] = []
    waiting = threading.Barrier(4)

    def spawn(_program: str, words: list[str], *_: object, **__: object) -> int:
        calls.append(words[-1])
        Path(words[-1]).write_text('{"a": 1}')
        return 0

    monkeypatch.setattr(os, "posix_spawn", spawn)
    monkeypatch.setattr(os, "waitpid", lambda *_: (0, 0))
    # Nobody finds it before all have looked.
    there = os.path.exists

    def exists(path: str) -> bool:
        found = there(path)
        if not found and threading.current_thread() not in looked:
            looked.add(threading.current_thread())
            waiting.wait(20)
        return found

    looked: set[threading.Thread] = set()
    monkeypatch.setattr(listing_cache.os.path, "exists", exists)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: find_listing("workflow", environ), range(4)))
    assert found == [{"a": 1}] * 4
    assert len(calls) == 1


def test_a_list_that_came_along_is_read_with_the_packages_that_it_was_made_with(
    tmp_path, monkeypatch, spawned
):
    """Any other is worked out, and one that is damaged too."""
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    came = tmp_path / "listings" / "none.json"
    came.parent.mkdir()
    monkeypatch.setattr(listing_cache, "_TOP", str(tmp_path))
    monkeypatch.setattr(listing_cache, "SOURCES", ())
    monkeypatch.setattr(registry, "list_all_names", lambda: ("none",))
    came.write_text(json.dumps({"packages": protocol_packages()}))
    assert find_listing("none", environ) == {"packages": protocol_packages()}
    assert spawned == []
    for text in ('{"packages": ["mcp-0.dist-info"]}', "{"):
        came.write_text(text)
        assert find_listing("none", environ) is None
    assert len(spawned) == 1


def test_a_dialect_of_others_is_asked_for_once_and_nothing_is_kept_of_a_name_that_none_has(
    tmp_path, spawned, monkeypatch
):
    """Dialects of others are the command line's; the relay looks for no entry points."""
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    assert find_listing("nonsense", environ) is None
    assert list(tmp_path.rglob("*.json")) == []
    monkeypatch.setattr(registry, "list_all_names", lambda: (*registry.names(), "checklist"))
    assert find_listing("checklist", environ) is None
    assert find_listing("checklist", environ) is None
    assert len(spawned) == 2


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"XDG_CACHE_HOME": "below/here"}])
def test_without_a_cache_the_command_line_takes_the_call(environ, spawned):
    """Nothing is written where nobody said."""
    assert find_listing("native", environ) is None
    assert find_listing("../native", {"HOME": "/nowhere"}) is None
    assert spawned == []


def test_where_no_relay_can_run_no_list_is_worked_out(tmp_path, spawned, monkeypatch):
    """Windows has no way to start one so."""
    monkeypatch.delattr(os, "posix_spawn")
    assert find_listing("native", {"HOME": str(tmp_path)}) is None
    assert spawned == []


def test_a_damaged_list_is_no_list(tmp_path, spawned):
    """The server is asked instead."""
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    folder = Path(cache_folder(environ))
    folder.mkdir(parents=True)
    for text in ("{", "[]"):
        (folder / "native.json").write_text(text)
        assert find_listing("native", environ) is None
    assert spawned == []


def test_another_source_has_lists_of_its_own(tmp_path, monkeypatch):
    """The name of the folder follows from the files that lists come from."""
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    before = cache_folder(environ)
    assert cache_folder(environ) == before
    monkeypatch.setattr(listing_cache, "SOURCES", ("protocol",))
    assert cache_folder(environ) != before


def test_lists_of_sources_long_gone_are_taken_away(tmp_path, monkeypatch):
    """Those of a program that may still run stay."""
    cache = tmp_path / "counterpoint"
    for name, age in (("listings-1-old", 10**7), ("listings-1-fresh", 10)):
        (cache / name).mkdir(parents=True)
        then = (cache / name).stat().st_mtime - age
        os.utime(cache / name, (then, then))
    monkeypatch.setattr(registry, "list_all_names", lambda: ("none",))
    assert run(["listings", str(cache / "listings-2" / "none.json")]) == 0
    assert sorted(path.name for path in cache.iterdir()) == ["listings-1-fresh", "listings-2"]
    assert (cache / "listings-2" / "none.json").read_text() == "null"


def test_the_command_that_writes_them_is_there(tmp_path):
    """As the relay runs it: in a process of its own, with nothing said."""
    path = tmp_path / "listings-x" / "workflow.json"
    words = [sys.executable, "-P", "-m", "counterpoint", "listings", str(path)]
    ran = subprocess.run(words, capture_output=True, check=True)
    assert (ran.stdout, ran.stderr) == (b"", b"")
    assert json.loads(path.read_bytes())["surface"] == "workflow"


def test_where_no_lock_can_be_made_a_list_is_worked_out_all_the_same(tmp_path, monkeypatch):
    """A cache that cannot be written costs the work, and refuses nobody."""
    calls: list[str] = []
    monkeypatch.setattr(os, "posix_spawn", lambda *words, **_: calls.append(words[1][-1]) or 0)
    monkeypatch.setattr(os, "waitpid", lambda *_: (0, 0))
    (tmp_path / "file").write_text("")
    assert find_listing("workflow", {"XDG_CACHE_HOME": str(tmp_path / "file")}) is None
    assert len(calls) == 1
