"""What tests of native tools call the plan they work in, and the task that is begun in it."""

from __future__ import annotations

Plan = dict[str, str]
"""The ids of the items of a plan, by their titles."""
Begun = tuple[str, int]
"""A task that ada has started, and the token of her claim."""
