"""What the environment loads into a command is out of it before it decides anything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

PATCH = """\
import builtins, os, sys
marks = os.environ["MARKS"]
load = builtins.__import__
def patched(name, *rest, **more):
    module = load(name, *rest, **more)
    if "counterpoint.core.operations.recording.authority" in sys.modules:
        open(os.path.join(marks, "patched"), "w").close()
    return module
builtins.__import__ = patched
open(os.path.join(marks, "loaded"), "w").close()
"""
"""As one would patch who counts as a person: it leaves a mark once the rules about that are loaded."""


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """Give the folder where loaded code leaves its mark."""
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


def _hostile(tmp_path: Path, marks: Path) -> dict[str, str]:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(PATCH)
    return {**os.environ, "PYTHONPATH": str(modules), "MARKS": str(marks)}


@pytest.mark.parametrize(
    "words", [("trust", "--allow", "make"), ("token", "create", "bob"), ("policy", "--reviews", "declared")]
)  # fmt: skip
def test_no_module_of_a_path_variable_is_in_a_command_when_it_decides(
    counterpoint: Callable[..., Any], repository: Path, tmp_path: Path, marks: Path, words: tuple[str, ...]
) -> None:  # fmt: skip
    """It was loaded by the interpreter that began, and not by the one that decided; code and streams are the command's."""
    assert counterpoint("init", "--yes", cwd=repository).returncode == 0
    plain = counterpoint(*words, "--json", cwd=repository)
    ran = counterpoint(*words, cwd=repository, env=_hostile(tmp_path, marks))
    assert [path.name for path in marks.iterdir()] == ["loaded"]
    assert (plain.returncode == 2) == (ran.returncode == 2)
    assert "Traceback" not in ran.stderr


def test_other_commands_start_once(
    counterpoint: Callable[..., Any], repository: Path, tmp_path: Path, marks: Path
) -> None:
    """They decide nothing: the patch is there, as it would be in any program."""
    assert counterpoint("init", "--yes", cwd=repository).returncode == 0
    ran = counterpoint("add", "Work", cwd=repository, env=_hostile(tmp_path, marks))
    assert ran.returncode == 0, ran.stderr
    assert {path.name for path in marks.iterdir()} == {"loaded", "patched"}


def test_no_preloaded_library_is_in_a_command_when_it_decides(
    counterpoint: Callable[..., Any], repository: Path, tmp_path: Path, marks: Path
) -> None:
    """Each image that it is loaded into says what it is: none is the isolated one that decided."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("a library to preload takes a C compiler, and Linux")
    source, library = tmp_path / "preload.c", tmp_path / "preload.so"
    source.write_text(
        "#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        "__attribute__((constructor)) static void load(void) {\n"
        '  char name[4096], words[4096] = {0}; int from = open("/proc/self/cmdline", O_RDONLY);\n'
        "  long size = read(from, words, sizeof words - 1); close(from);\n"
        '  snprintf(name, sizeof name, "%s/%d", getenv("MARKS"), getpid());\n'
        "  int to = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);\n"
        "  if (size > 0 && write(to, words, size) < 0) _exit(1);\n  close(to);\n}\n"
    )  # fmt: skip
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    assert counterpoint("init", "--yes", cwd=repository).returncode == 0
    environ = {**os.environ, "LD_PRELOAD": str(library), "MARKS": str(marks)}
    counterpoint("token", "create", "bob", cwd=repository, env=environ)
    images = [path.read_bytes() for path in marks.iterdir()]
    assert any(b"token" in image for image in images)
    assert not any(b"\0-I\0" in image and b"token" in image for image in images)
    listed = counterpoint("token", "list", "--json", cwd=repository)
    assert "bob" in listed.stdout
