"""Judging a whole document: all its faults in one report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from counterpoint.dialects.foundry.rules.tree import Tree
from counterpoint.dialects.foundry.rules.validation.document import document_faults
from counterpoint.dialects.foundry.rules.validation.edges import edge_faults
from counterpoint.dialects.foundry.rules.validation.links import link_faults
from counterpoint.dialects.foundry.rules.validation.node import node_faults
from counterpoint.dialects.foundry.rules.validation.table import Diagnostic, Severity
from counterpoint.kernel.canonical import Json, object_of


@dataclass(frozen=True, slots=True)
class Report:
    """All faults of a document."""

    diagnostics: tuple[Diagnostic, ...]

    @property
    def is_valid(self) -> bool:
        """Whether the spec can be worked on as written: warnings do not count."""
        return not self.count("error")

    def count(self, severity: Severity) -> int:
        """Return how many faults there are of a severity."""
        return sum(one.rule.severity == severity for one in self.diagnostics)

    def codes(self) -> Counter[str]:
        """Return how often each code is there."""
        return Counter(one.code for one in self.diagnostics)

    def as_json(self) -> dict[str, Json]:
        """Return the report as `spec validate` tells it."""
        return {
            "is_valid": self.is_valid,
            "error_count": self.count("error"),
            "warning_count": self.count("warning"),
            "info_count": self.count("info"),
            "diagnostics": [one.as_json() for one in self.diagnostics],
        }


def validate(document: Json) -> Report:
    """Return all faults of a document, which may be any JSON."""
    whole = object_of(document)
    tree = Tree(whole)
    return Report(
        (
            *document_faults(whole),
            *link_faults(whole, tree),
            *node_faults(tree),
            *edge_faults(whole, tree),
        )
    )
