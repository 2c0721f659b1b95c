"""The codes of all faults, how bad each is, and whether it can be fixed.

A fault is an error if the spec cannot be worked on as written, and a warning if it can. What is fixable is fixed
without a decision of anybody: nothing that was meant is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from counterpoint.dialects.foundry.nodes.rules import shape
from counterpoint.kernel.canonical import Json

Severity = Literal["error", "warning", "info"]

_SEVERITIES: Final[dict[str, Severity]] = {"E": "error", "W": "warning"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What one code means; remedy: what mends it."""

    code: str
    severity: Severity
    category: str
    is_fixable: bool
    remedy: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault; location: the node and the field, or the field of the document."""

    code: str
    message: str
    location: str

    @property
    def rule(self) -> Rule:
        """What the code means."""
        return RULES.get(self.code) or OF_FILES[self.code]

    def as_fault(self) -> dict[str, Json]:
        """Return the fault as the refusal of a document tells it."""
        return {"code": self.code, "message": self.message, "location": self.location}

    def as_json(self) -> dict[str, Json]:
        """Return the fault as `spec validate` tells it."""
        rule = self.rule
        return {
            "code": self.code,
            "message": self.message,
            "severity": rule.severity,
            "category": rule.category,
            "location": self.location,
            "suggested_fix": rule.remedy,
            "auto_fixable": rule.is_fixable,
        }


def _rules(category: str, *rows: str) -> Iterable[tuple[str, Rule]]:
    """Return rules from rows of: code, E or W with + if it is fixable, and the remedy."""
    for row in rows:
        code, mark, remedy = row.split(" ", 2)
        yield (
            code,
            Rule(
                code=code,
                severity=_SEVERITIES[mark[0]],
                category=category,
                is_fixable=mark.endswith("+"),
                remedy=remedy,
            ),
        )


def _one_of(words: Iterable[str]) -> str:
    return f"Use one of {', '.join(words)}"


RULES: Final[dict[str, Rule]] = dict(
    [
        *_rules(
            "security",
            f"EXCESSIVE_NESTING W Nest at most {shape.NESTING_LIMIT} lists and objects",
            f"EXCESSIVE_ARRAY_LENGTH W Split lists of more than {shape.LIST_LIMIT} children into groups",
            "EXCESSIVE_JOURNAL_LENGTH W Move old journal entries elsewhere",
        ),
        *_rules(
            "structure",
            "MISSING_REQUIRED_FIELD E Add the field",
            "INVALID_SPEC_ID_FORMAT W Name the spec {slug}-{YYYY-MM-DD}-{NNN}",
            "INVALID_DATE_FORMAT W+ Write the time in ISO 8601",
            "INVALID_JOURNAL_TYPE E Make the journal a list of objects",
            "INVALID_HIERARCHY_TYPE E Make the hierarchy an object of nodes by id",
            "EMPTY_HIERARCHY E Add spec-root and a phase",
        ),
        *_rules(
            "hierarchy",
            "MISSING_SPEC_ROOT E Add the node spec-root",
            "INVALID_ROOT_PARENT E+ Set the parent of spec-root to null",
            "NULL_PARENT E Name the parent; only spec-root has none",
            "MISSING_PARENT E Name a parent that exists",
            "INVALID_CHILDREN_TYPE E Make children a list of ids",
            "MISSING_CHILD E Remove the id from children, or add the node",
            "DUPLICATE_CHILD W+ List each child once",
            "PARENT_CHILD_MISMATCH E+ Make the parent and its list of children agree",
            "ORPHANED_NODES E+ Attach the node to spec-root",
            "CYCLE_DETECTED E Take one of the nodes out of the children of the one before",
        ),
        *_rules(
            "node",
            "INVALID_NODE_STRUCTURE E Make the node an object",
            "MISSING_NODE_FIELD E+ Add the field with its default",
            f"INVALID_NODE_TYPE E+ {_one_of(shape.NODE_TYPES)}",
            f"INVALID_STATUS E+ {_one_of(shape.STATUSES)}",
            "EMPTY_TITLE W+ Make a title from the id",
        ),
        *_rules(
            "counts",
            "COMPLETED_EXCEEDS_TOTAL E+ Count the tasks again",
            "TOTAL_TASKS_MISMATCH E+ Count the tasks again",
            "COMPLETED_TASKS_MISMATCH E+ Count the tasks again",
            "INVALID_LEAF_COUNT W+ Count a leaf as one task",
        ),
        *_rules(
            "dependency",
            "INVALID_DEPENDENCIES_TYPE E+ Make an object with blocks, blocked_by and depends",
            "INVALID_DEPENDENCY_FIELD E Make it a list of ids",
            "MISSING_DEPENDENCY_TARGET E Remove the id, or add the node",
            "DUPLICATE_DEPENDENCY W+ List each dependency once",
            "BIDIRECTIONAL_INCONSISTENCY E+ Write the dependency on both nodes",
            "CIRCULAR_DEPENDENCY E Remove one of the dependencies of the circle",
            "CIRCULAR_SOFT_DEPENDENCY W Remove one of the dependencies of the circle",
        ),
        *_rules(
            "metadata",
            "MISSING_MISSION E Set metadata.mission to what the spec is for",
            "EMPTY_SUCCESS_CRITERIA W Say how success is recognised",
            "EMPTY_CONSTRAINTS W Say what has to be kept to",
            "INVALID_RISK_ENTRY E Make risks a list of objects",
            "MISSING_RISK_DESCRIPTION E Describe the risk",
            f"INVALID_RISK_FIELD E {_one_of(shape.LEVELS)}; mitigation is a text",
            "MISSING_PLAN_PATH W Set metadata.plan_path to the plan",
            "MISSING_PLAN_REVIEW_PATH W Set metadata.plan_review_path to the review of the plan",
            "INVALID_METADATA_TYPE E Make metadata an object",
            f"MISSING_VERIFICATION_TYPE E+ {_one_of(shape.VERIFICATION_TYPES)}",
            f"INVALID_VERIFICATION_TYPE E+ {_one_of(shape.VERIFICATION_TYPES)}",
            "UNKNOWN_FIELD W Rename category to task_category",
            f"INVALID_TASK_CATEGORY E {_one_of(shape.CATEGORIES)}",
            f"MISSING_TASK_CATEGORY E {_one_of(shape.CATEGORIES)}",
            "MISSING_TASK_DESCRIPTION E Describe the task in metadata.description or details",
            "MISSING_ACCEPTANCE_CRITERIA E Give at least one criterion",
            "INVALID_ACCEPTANCE_CRITERIA E Make it a list of texts that are not blank",
            "MISSING_FILE_PATH E Set metadata.file_path to the file that the task changes most",
            f"INVALID_COMPLEXITY E {_one_of(shape.COMPLEXITIES)}",
            f"MISSING_COMPLEXITY W {_one_of(shape.COMPLEXITIES)}",
        ),
    ]
)
"""What each code means, in the order in which faults are told."""
OF_FILES: Final[dict[str, Rule]] = dict(
    [
        *_rules(
            "structure",
            "INVALID_JSON E Write the file as JSON in UTF-8",
            "INVALID_STRUCTURE E Make the file one JSON object",
            "DUPLICATE_KEY E Name each field of an object once",
            "DUPLICATE_ENTRY E Keep the file of a spec in one folder",
        ),
        *_rules(
            "security",
            "FILE_TOO_LARGE E Split the spec, or take out what is no part of it",
            "FIELD_TOO_LONG E Shorten the value, or keep it in a file of its own",
        ),
    ]
)
"""What else keeps a file from being a spec: no spec of the ledger can have it."""
