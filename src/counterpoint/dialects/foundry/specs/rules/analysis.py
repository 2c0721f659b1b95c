"""What a spec lacks, and which of its tasks are alike.

Tasks with nearly the same texts.
How alike two texts are is Dice's coefficient: twice the pieces they share, of all their pieces. A piece is a run of three
letters, in small letters, each counted as often as it is there. It is
1 for the same pieces and 0 for none in common.

Two texts that are alike enough share some of their rarest pieces: if a text has n pieces, any that is alike by t has at
least m = n·t/(2-t) of them, so at least k of its n-m+k rarest. Only pairs that share so many of these are compared.
Where a document is made so that this leaves too many, the search stops at a fixed amount of work and says that it did.
Verify nodes are not compared: every phase has the same ones.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from counterpoint.dialects.foundry.models.specs import ROOT
from counterpoint.dialects.foundry.nodes.rules.shape import (
    FILE_CATEGORIES,
    STATUSES,
    Node,
    description_of,
    has_text,
    is_one_of,
    items_of,
    metadata_of,
    natural_key,
    nodes_of,
    text_of,
    word_of,
)
from counterpoint.dialects.foundry.nodes.rules.tree import (
    Tree,
    cycles,
    hard_edges,
    rollup,
    soft_edges,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import InvalidInput

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


THRESHOLD: Final = 0.8
PAIRS: Final = 100
PAIRS_LIMIT: Final = 1_000
_COMPARED_TYPES: Final = frozenset({"task", "subtask", "research"})
_LETTERS: Final = 1_000
"""Letters of a text that are compared."""
_LETTERS_LIMIT: Final = 1_000_000
"""Letters of all texts that are compared."""
_WORK_LIMIT: Final = 20_000_000
"""Places looked up in the index, or as much other work, which takes about a second."""
_COMPARING: Final = 20
"""Places that are looked up in the time in which two texts are compared."""
_SHARED: Final = 8
"""Of how many rarest pieces two texts that are alike enough share all, if each shares so many at all."""
_PIECE: Final = 3
"""Letters of a piece."""


@dataclass(slots=True)
class _Search:
    """The state of a search: pairs found, and work left."""

    threshold: float
    max_pairs: int
    work: int = _WORK_LIMIT
    similarities: dict[tuple[int, int], float] = field(default_factory=dict[tuple[int, int], float])
    compared: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    is_cut: bool = False


def duplicates(
    document: Json,
    scope: str = "titles",
    threshold: float = THRESHOLD,
    max_pairs: int = PAIRS,
) -> dict[str, Json]:
    """Return the pairs of tasks that are alike by a threshold or more, the most alike first; InvalidInput.

    truncated is there if not all were looked for or told.
    """
    _refuse(scope, threshold, max_pairs)
    nodes = {
        name: node
        for name, node in nodes_of(document).items()
        if is_one_of(node.get("type"), _COMPARED_TYPES)
    }
    names = list(nodes)
    search = _Search(threshold, max_pairs)
    if scope != "descriptions":
        _compare([text_of(node.get("title")) for node in nodes.values()], search)
    if scope != "titles":
        texts = [description_of(metadata_of(node)) for node in nodes.values()]
        _compare(texts, search)
    pairs = sorted(
        search.similarities,
        key=lambda pair: (-search.similarities[pair], *map(natural_key, _of(names, pair))),
    )
    report: dict[str, Json] = {
        "duplicates": [
            {
                "node_a": names[first],
                "node_b": names[other],
                "similarity": math.floor(100 * search.similarities[first, other]) / 100,
                "scope": scope,
            }
            for first, other in pairs[:max_pairs]
        ],
        "duplicate_count": min(len(pairs), max_pairs),
        "scope": scope,
        "threshold": threshold,
        "nodes_checked": len(names),
        "pairs_compared": len(search.compared),
    }
    if search.is_cut or len(pairs) > max_pairs:
        report["truncated"] = True
    return report


def similarity(first: str, other: str) -> float:
    """Return how alike two texts are, from 0 to 1."""
    pieces, theirs = _pieces(first), _pieces(other)
    total = pieces.total() + theirs.total()
    return 2 * (pieces & theirs).total() / total if total else 0.0


def _refuse(scope: str, threshold: float, max_pairs: int) -> None:
    faults: list[str] = []
    if scope not in {"titles", "descriptions", "both"}:
        faults.append("scope is one of titles, descriptions, both")
    if not 0 < threshold <= 1:
        faults.append("threshold is above 0 and at most 1")
    if not 0 < max_pairs <= PAIRS_LIMIT:
        faults.append(f"max_pairs is from 1 to {PAIRS_LIMIT}")
    if faults:
        raise InvalidInput("; ".join(faults))


def _of(names: Sequence[str], pair: tuple[int, int]) -> tuple[str, str]:
    return names[pair[0]], names[pair[1]]


def _pieces(text: str) -> Counter[str]:
    plain = " ".join(text[:_LETTERS].lower().split())
    if not plain:
        return Counter()
    # A blank on both sides makes pieces of the first and the last letter, and of the shortest text.
    edged = f" {plain} ".ljust(_PIECE)
    return Counter(edged[start : start + _PIECE] for start in range(len(edged) - _PIECE + 1))


def _numbered(texts: Sequence[str], search: _Search) -> list[frozenset[int]]:
    """Return the pieces of each text as numbers, the rarest piece of all having the smallest."""
    ids: dict[tuple[str, int], int] = {}
    rows: list[list[int]] = []
    letters_left = _LETTERS_LIMIT
    for text in texts:
        letters_left -= min(len(text), _LETTERS)
        if letters_left < 0:
            search.is_cut = True
            break
        rows.append(
            [
                ids.setdefault((piece, number), len(ids))
                for piece, count in _pieces(text).items()
                for number in range(count)
            ]
        )
    often = Counter(piece for row in rows for piece in row)
    rank = {piece: position for position, (piece, _) in enumerate(reversed(often.most_common()))}
    return [frozenset(rank[piece] for piece in row) for row in rows]


def _compare(texts: Sequence[str], search: _Search) -> None:
    rows = _numbered(texts, search)
    share = search.threshold / (2 - search.threshold)
    least = [math.ceil(len(row) * share - 1e-9) for row in rows]
    index: dict[int, list[int]] = defaultdict(list)
    for own, row in enumerate(rows):
        rarest = sorted(row)[: len(row) - least[own] + min(least[own], _SHARED)]
        if search.work <= 0 or len(search.similarities) > search.max_pairs:
            search.is_cut = True
            return
        for other in _candidates(index, rarest, own, least, search):
            if not least[own] <= len(rows[other]) <= len(row) / share + 1e-9:
                continue  # too short or too long to share enough
            pair = other, own
            search.compared.add(pair)
            search.work -= _COMPARING + len(row)
            alike = _alike(row, rows[other])
            if alike >= search.threshold - 1e-9:
                search.similarities[pair] = max(alike, search.similarities.get(pair, 0.0))
        for piece in rarest:
            index[piece].append(own)


def _candidates(
    index: dict[int, list[int]],
    pieces: Sequence[int],
    own: int,
    least: Sequence[int],
    search: _Search,
) -> Iterator[int]:
    """Return the texts before this one that share enough of its rarest pieces."""
    shared: Counter[int] = Counter()
    for piece in pieces:
        others = index.get(piece, [])
        search.work -= len(others)
        shared.update(others)
        if search.work <= 0:
            return
    for other, count in shared.items():
        if count >= min(_SHARED, least[own], least[other]):
            yield other


def _alike(first: frozenset[int], other: frozenset[int]) -> float:
    return 2 * len(first & other) / (len(first) + len(other))
