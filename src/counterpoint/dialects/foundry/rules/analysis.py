"""Statistics, bottlenecks and gaps of a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from counterpoint.dialects.foundry.nouns.nodes import ROOT
from counterpoint.dialects.foundry.rules.numbering import natural_key
from counterpoint.dialects.foundry.rules.rollup import rollup
from counterpoint.dialects.foundry.rules.shape import (
    FILE_CATEGORIES,
    STATUSES,
    Node,
    description_of,
    has_text,
    is_one_of,
    items_of,
    metadata_of,
    nodes_of,
    text_of,
    word_of,
)
from counterpoint.dialects.foundry.rules.tree import Tree, cycles, hard_edges, soft_edges
from counterpoint.kernel.canonical import Json, object_of

BOTTLENECK_THRESHOLD: Final = 3
WEIGHTS: Final = {"titles": 0.25, "descriptions": 0.40, "file_paths": 0.35}
"""The weight of each category in the score; one without anything to check has none."""
_TASKS: Final = frozenset({"task", "subtask"})
_DESCRIBED: Final = frozenset({"task", "subtask", "verify", "research"})
_MESSAGES: Final = {
    "titles": "The title is empty",
    "descriptions": "There is no description",
    "file_paths": "There is no file_path, which this category of task needs",
}


def stats(document: Json, size: int = 0) -> dict[str, Json]:
    """Return the statistics of a document; size: bytes of its file.

    status_counts are of tasks and subtasks, verification_coverage is verify nodes per task, and progress the
    share of completed leaves from 0 to 1.
    """
    whole, tree = object_of(document), Tree(document)
    kinds = Counter(word_of(node.get("type")) for node in tree.nodes.values())
    tasks = [node for node in tree.nodes.values() if is_one_of(node.get("type"), _TASKS)]
    counted = Counter(word_of(node.get("status")) for node in tasks)
    derived = rollup(tree)
    total, completed = derived.counts.get(ROOT, (0, 0))
    return {
        "spec_id": text_of(whole.get("spec_id")),
        "title": text_of(whole.get("title")) or text_of((tree.root or {}).get("title")),
        "version": version_of(whole),
        "status": text_of(whole.get("status")) or derived.status,
        "totals": {
            "nodes": len(tree.nodes),
            "tasks": len(tasks),
            "phases": kinds["phase"],
            "verifications": kinds["verify"],
        },
        "status_counts": {status: counted[status] for status in STATUSES},
        "max_depth": max(tree.depths().values(), default=0),
        "avg_tasks_per_phase": round(len(tasks) / max(kinds["phase"], 1), 2),
        "verification_coverage": round(kinds["verify"] / len(tasks), 4) if tasks else 0.0,
        "progress": round(completed / total, 4) if total else 0.0,
        "file_size_kb": round(size / 1024, 2),
    }


def version_of(document: Json) -> str:
    """Return the version of a spec: what it says itself, else that of its last revision."""
    whole = object_of(document)
    metadata = metadata_of(whole)
    revisions = [object_of(entry) for entry in items_of(metadata.get("revision_history"))]
    versions = [whole.get("version"), metadata.get("version")]
    versions += [revision.get("version") for revision in reversed(revisions)]
    return next((text_of(version) for version in versions if has_text(version)), "")


def dependency_report(
    document: Json, bottleneck_threshold: int = BOTTLENECK_THRESHOLD
) -> dict[str, Json]:
    """Return the number of dependencies, the nodes that block at least so many others, and every circle.

    A dependency counts once, whichever side names it; soft ones count too, but block nobody.
    """
    nodes = nodes_of(document)
    hard, soft = hard_edges(nodes), soft_edges(nodes)
    held_up = {name: len(others) for name, others in hard.items()}
    heavy = [name for name, count in held_up.items() if count >= max(bottleneck_threshold, 1)]
    heavy.sort(key=lambda name: (-held_up[name], natural_key(name)))
    circles = [*cycles(hard), *cycles(soft)]
    return {
        "dependency_count": sum(map(len, hard.values())) + sum(map(len, soft.values())),
        "bottlenecks": [
            {
                "task_id": name,
                "title": text_of(nodes[name].get("title")),
                "status": text_of(nodes[name].get("status")),
                "blocks_count": held_up[name],
            }
            for name in heavy
        ],
        "bottleneck_threshold": bottleneck_threshold,
        "circular_deps": circles,
        "has_cycles": bool(circles),
    }


def completeness(document: Json) -> dict[str, Json]:
    """Return how complete the nodes of a document are described, from 0 to 100, and what is missing where."""
    totals: Counter[str] = Counter()
    issues: list[dict[str, Json]] = []
    for name, node in nodes_of(document).items():
        if name == ROOT:
            continue
        for category, is_there in _checks(node):
            totals[category] += 1
            if not is_there:
                issues.append(
                    {"node_id": name, "category": category, "message": _MESSAGES[category]}
                )
    issues.sort(key=lambda issue: natural_key(issue["node_id"]))
    missing = Counter(issue["category"] for issue in issues)
    return {
        "completeness_score": _score(totals, missing),
        "categories": {
            category: {
                "complete": totals[category] - missing[category],
                "total": totals[category],
                "score": round(_share(category, totals, missing), 2),
            }
            for category in WEIGHTS
        },
        "issues": issues,
        "issue_count": len(issues),
    }


def _checks(node: Node) -> Iterator[tuple[str, bool]]:
    """Return the categories that a node is checked for, and whether it has what they ask for.

    The words of a verify node are its command or what is expected of it.
    """
    metadata = metadata_of(node)
    kind = word_of(node.get("type"))
    yield "titles", has_text(node.get("title"))
    if kind in _DESCRIBED:
        texts = [metadata.get(name) for name in ("command", "expected", "query")]
        is_said = kind not in _TASKS and any(map(has_text, texts))
        yield "descriptions", is_said or bool(description_of(metadata))
    if kind in _TASKS and text_of(metadata.get("task_category")).strip().lower() in FILE_CATEGORIES:
        yield "file_paths", has_text(metadata.get("file_path"))


def _share(category: str, totals: Counter[str], missing: Counter[str]) -> float:
    total = totals[category]
    return (total - missing[category]) / total if total else 1.0


def _score(totals: Counter[str], missing: Counter[str]) -> int:
    weights = {name: weight for name, weight in WEIGHTS.items() if totals[name]}
    if not weights:
        return 100
    reached = sum(weight * _share(name, totals, missing) for name, weight in weights.items())
    share = reached / sum(weights.values())
    # Rounded down, so that 100 is said only where nothing is missing; first to what floats can tell apart.
    return int(round(100 * share, 6))
