"""Nouns by their tables, of which some are loaded when they are first asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from counterpoint.core.model import catalogue
from counterpoint.core.model.catalogue import Nouns, by_table
from counterpoint.core.model.lifecycles import register, tables_of_work
from counterpoint.core.model.proofs import Seal, Thought
from counterpoint.core.model.work import Item, Label
from counterpoint.dialects import nouns

_LOOK = """
import sys
from counterpoint.dialects.nouns import EVERY
names = [*EVERY.tables]
assert "briefs" in EVERY.tables and "items" in EVERY.tables and "nothing" not in EVERY.tables
assert len(names) == len(EVERY)
before = "counterpoint.dialects.agentic.nouns" in sys.modules
EVERY.tables["briefs"]
print(before, "counterpoint.dialects.agentic.nouns" in sys.modules)
"""


def test_every_noun_stands_under_its_own_table():
    """The name is written beside what loads it, so that both are compared here."""
    for table, noun in nouns.EVERY.tables.items():
        assert noun.table == table
    assert len({*nouns.EVERY.tables}) == len(nouns.EVERY)
    assert [*nouns.EVERY] == [*catalogue.NOUNS, *nouns.NOUNS]


def test_names_of_tables_are_told_without_loading_their_nouns():
    """A database is compared with the tables of all; a command meets the rows of few."""
    done = subprocess.run([sys.executable, "-c", _LOOK], capture_output=True, check=True, text=True)
    assert done.stdout == "False True\n"


def test_nouns_are_a_sequence_like_any_other():
    """By place and slice; what is not there is an error of the usual kind."""
    few = Nouns((Item, Label), {"thoughts": lambda: Thought})
    assert (len(few), few[0], few[1:], [*few]) == (
        3,
        Item,
        (Label, Thought),
        [Item, Label, Thought],
    )
    more = few.followed_by({"seals": lambda: Seal})
    assert [*more] == [Item, Label, Thought, Seal]
    assert [*by_table(few)] == [*by_table([Item, Label, Thought])]
    with pytest.raises(KeyError):
        few.tables["seals"]


def test_our_tables_of_states_agree_with_each_other():
    """They are loaded without that question, which those of other packages are asked."""
    known = {table.name: table for table in tables_of_work()}
    assert known.keys() >= nouns.TABLES.keys()
    for name in nouns.TABLES:
        assert known[name].name == name
        register(known[name])
