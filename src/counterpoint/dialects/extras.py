"""What the verbs of one dialect alone ask of a project: its files, by their class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from counterpoint.core.ports.evidence import Evidence
from counterpoint.dialects import registry
from counterpoint.dialects.agentic.order_file import read_order
from counterpoint.dialects.agentic.rules.precedence import ToolOrder
from counterpoint.dialects.colibri.skill_files import SkillDirectory
from counterpoint.dialects.foundry.environment.errors import ErrorLog
from counterpoint.dialects.foundry.environment.operations import ConfigFile
from counterpoint.dialects.foundry.places import SpecsPlaces
from counterpoint.dialects.foundry.research.asking import Overrides
from counterpoint.dialects.foundry.reviews.panel import Reviewers
from counterpoint.dialects.foundry.runs.door import Door
from counterpoint.dialects.foundry.runs.files import SANDBOX, AutonomyFiles, says_yes
from counterpoint.dialects.foundry.runs.gates import EvidenceKeys
from counterpoint.dialects.symphony.contract_files import ContractDirectory
from counterpoint.kernel.clock import Clock
from counterpoint.settings import Settings


def open_extras(
    settings: Settings,
    places: tuple[Path, Path, Path],
    evidence: Evidence,
    clock: Clock,
    environ: Mapping[str, str],
) -> Mapping[type[Any], Any]:
    """Return it for a tree of a project, its main tree and the folder of its ledger; InvalidInput, MalformedDocument for an order of tools that is none."""
    tree, home, state = places
    specs = SpecsPlaces(tree=tree, home=home, state=state, said=settings.specs_dir)
    config = ConfigFile(home=home, evidence=evidence)
    folders = tuple(name.strip() for name in settings.skills.split(",") if name.strip())
    return {
        SkillDirectory: SkillDirectory(tree, evidence, clock, folders),
        ContractDirectory: ContractDirectory(home=home, evidence=evidence),
        SpecsPlaces: specs,
        AutonomyFiles: AutonomyFiles(places=specs, is_sandboxed=says_yes(environ.get(SANDBOX, ""))),
        Door: Door(file=config, environ=environ),
        ErrorLog: ErrorLog(state=state),
        EvidenceKeys: EvidenceKeys(),
        Reviewers: Reviewers(),
        ConfigFile: config,
        Overrides: Overrides(environ=environ),
        ToolOrder: _tool_order(settings, tree),
    }


def _tool_order(settings: Settings, tree: Path) -> ToolOrder:
    if not settings.tool_dependencies:
        return ToolOrder()
    tools = {
        tool.name for name in registry.list_all_names() for tool in registry.surface(name).tools
    }
    return read_order(tree / Path(settings.tool_dependencies).expanduser(), tools)
