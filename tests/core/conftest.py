"""Verbs are tried in a studio, with two agents and a person in it."""

from __future__ import annotations

from fakes.seats import ada, bob, person, studio

__all__ = ["ada", "bob", "person", "studio"]
