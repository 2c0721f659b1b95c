"""Modules that are loaded by the first look at what they hold."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, Thread
from types import ModuleType

import pytest

from counterpoint.kernel.starting.later import load_when_asked

Write = Callable[[str], ModuleType]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Give what writes a module, has it loaded when it is asked, and answers what imports it get."""
    monkeypatch.syspath_prepend(tmp_path)

    def writing(text: str) -> ModuleType:
        (tmp_path / "quay.py").write_text(text)
        importlib.invalidate_caches()
        load_when_asked("quay")
        return importlib.import_module("quay")

    yield writing
    sys.modules.pop("quay", None)


def test_a_module_is_loaded_by_the_first_look_at_it(write: Write, capsys) -> None:
    """Importing it, even twice, does not; from then on it is a module like any other."""
    found = write("print('loaded')\nDEPTH = 3\n")
    assert importlib.import_module("quay") is found
    assert capsys.readouterr().out == ""
    assert (found.DEPTH, found.DEPTH) == (3, 3)
    assert capsys.readouterr().out == "loaded\n"
    assert type(found) is ModuleType
    with pytest.raises(AttributeError, match="quay"):
        _ = found.WIDTH


def test_what_is_loaded_or_not_there_is_left_alone() -> None:
    """Nothing is put in the place of a module that somebody uses, or of none."""
    before = sys.modules["pathlib"]
    load_when_asked("pathlib", "no_such_module_anywhere")
    assert sys.modules["pathlib"] is before
    assert "no_such_module_anywhere" not in sys.modules


def test_a_module_may_look_at_itself_while_it_loads(write: Write) -> None:
    text = "import quay\nBEFORE = hasattr(quay, 'AFTER')\nAFTER = 1\n"
    assert write(text).BEFORE is False


def test_a_module_that_fails_says_so_each_time(write: Write) -> None:
    """The fault is the one of its own, as an import would have it."""
    found = write("raise ValueError('low water')\n")
    for _ in range(2):
        with pytest.raises(ValueError, match="low water"):
            _ = found.DEPTH


def test_threads_that_ask_at_once_all_get_it_whole(write: Write, capsys) -> None:
    """One of them loads it, and the others wait."""
    found, start, seen = (
        write("print('loaded')\nDEPTH = sum(range(9999))\nEND = 1\n"),
        Barrier(8),
        [],
    )

    def ask() -> None:
        start.wait()
        seen.append(found.END)

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [1] * 8
    assert capsys.readouterr().out == "loaded\n"
