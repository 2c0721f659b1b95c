"""Judging a whole document: all its faults in one report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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
        return sum(diagnostic.rule.severity == severity for diagnostic in self.diagnostics)

    def codes(self) -> Counter[str]:
        """Return how often each code is there."""
        return Counter(diagnostic.code for diagnostic in self.diagnostics)

    def as_json(self) -> dict[str, Json]:
        """Return the report as `spec validate` tells it."""
        return {
            "is_valid": self.is_valid,
            "error_count": self.count("error"),
            "warning_count": self.count("warning"),
            "info_count": self.count("info"),
            "diagnostics": [diagnostic.as_json() for diagnostic in self.diagnostics],
        }


def unread_report(document: Json, faults: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Return the report about a file that cannot be a spec, as `spec validate` tells it.

    faults: what keeps it from that, which come first as errors that nobody fixes but a person; the rest is what is wrong as well.
    """
    kept_out = {(fault["code"], fault["location"]) for fault in faults}
    others = [
        diagnostic
        for diagnostic in validate(document).diagnostics
        if document and (diagnostic.code, diagnostic.location) not in kept_out
    ]
    first: list[Json] = [
        {
            **Diagnostic(fault["code"], fault["message"], fault["location"]).as_json(),
            "severity": "error",
            "auto_fixable": False,
        }
        for fault in faults
    ]
    more = Report(tuple(others))
    return {
        **more.as_json(),
        "is_valid": False,
        "error_count": len(first) + more.count("error"),
        "diagnostics": [*first, *(other.as_json() for other in others)],
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
