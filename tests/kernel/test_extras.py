"""A library that is missing is installed the way the program was."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from counterpoint.kernel import extras
from counterpoint.kernel.extras import install_hint


def test_in_an_environment_of_pipx_it_is_injected(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "pipx_metadata.json").write_text("{}")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert "`pipx inject counterpoint textual`" in install_hint("top")


@pytest.mark.parametrize(
    ("has_pip", "command"),
    [(True, "{python} -P -m pip install"), (False, "uv pip install --python {prefix}")],
)
def test_elsewhere_it_goes_into_the_interpreter_that_runs(
    tmp_path: Path, monkeypatch, has_pip, command
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(extras, "find_spec", lambda _name: object() if has_pip else None)
    assert (
        f"`{command.format(python=sys.executable, prefix=sys.prefix)} 'psycopg[binary]'`"
        in install_hint("postgres")
    )
