"""Editing TOML texts in place."""

from __future__ import annotations

import tomllib

import pytest

from counterpoint.cli.clients.toml import load_toml, set_table
from counterpoint.kernel.errors import MalformedDocument

ENTRY = {"command": "c", "args": ["mcp"], "required": True}
TABLE = '[servers.mine]\ncommand = "c"\nargs = ["mcp"]\nrequired = true\n'
PATH = ("servers", "mine")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", TABLE),
        ("a = 1", f"a = 1\n\n{TABLE}"),
        ("# mine\na = 1\n", f"# mine\na = 1\n\n{TABLE}"),
        ('[servers.other]\nx = "y" # why\n', f'[servers.other]\nx = "y" # why\n\n{TABLE}'),
        ("[servers]\n", f"[servers]\n\n{TABLE}"),
        (f"{TABLE}# end\n", f"{TABLE}# end\n"),
        (
            '[ servers . "mine" ] # ours\nenv = {A = "b"}\ncommand = "old"\n[z]\ncommand = "z"\n',
            (
                '[ servers . "mine" ] # ours\nrequired = true\nargs = ["mcp"]\nenv = {A = "b"}\n'
                'command = "c"\n[z]\ncommand = "z"\n'
            ),
        ),
        (
            '[servers.mine]\nargs = [\n  "a",\n  "b",\n]\ncommand = """\ntwo lines"""\n[z]\nx = 1\n',
            '[servers.mine]\nrequired = true\nargs = ["mcp"]\ncommand = "c"\n[z]\nx = 1\n',
        ),
    ],
)
def test_the_text_around_a_table_stays(before, after):
    """Comments, order and other tables; a table that is there is changed in its place."""
    edited = set_table(before, PATH, ENTRY)
    assert edited == after
    assert tomllib.loads(edited)["servers"]["mine"].items() >= ENTRY.items()


def test_line_ends_are_those_of_the_file():
    """A file with carriage returns keeps them throughout."""
    edited = set_table("a = 1\r\n", PATH, ENTRY)
    assert edited.count("\r\n") == edited.count("\n") == 6


@pytest.mark.parametrize(
    "text",
    [
        "a = ",
        "a = " + "[" * 100_000,
        'servers = "text"\n',
        "servers = {other = {x = 1}}\n",
        '[servers]\nmine = {command = "old"}\n',
        '[servers.mine]\nargs = [\n  "a",  # why\n]\n',
    ],
)
def test_what_cannot_be_edited_safely_is_refused(text):
    """Broken text, inline tables, comments inside of values: nobody's text is put at risk."""
    with pytest.raises(MalformedDocument):
        set_table(text, PATH, ENTRY)


def test_what_is_not_toml_is_refused():
    """With the place where it ends to be."""
    with pytest.raises(MalformedDocument, match="line 1"):
        load_toml("a = = 1")
