"""Contracts of phases: a project's own before those that ship."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from builders import HandClock
from counterpoint.dialects.symphony.contract_files import FOLDERS, SIZE_LIMIT, ContractDirectory
from counterpoint.dialects.symphony.rules.contracts import artifact_faults
from counterpoint.evidence.local import LocalEvidence
from counterpoint.evidence.places import open_folder
from counterpoint.kernel.errors import InvalidInput, MalformedDocument, NotFound, PathOutside

SHIPPED = ["architecture", "grooming", "ready", "research"]
OWN, OTHER = FOLDERS


def write(home: Path, folder: str, name: str, text: str = "") -> None:
    """Write a contract; without a text a sound one that names its folder."""
    (home / folder).mkdir(parents=True, exist_ok=True)
    sound = f"---\nversion: 7\ndispatch_profile: a\nvalidation: none\n---\nOf {folder}."
    (home / folder / f"{name}.md").write_text(text or sound)


def test_four_contracts_ship_and_lead_to_each_other(tmp_path: Path) -> None:
    """From research to what is ready, each with a role, instructions and a form."""
    shelf = ContractDirectory(home=tmp_path, evidence=LocalEvidence(clock=HandClock()))
    assert shelf.phases() == SHIPPED
    phase, walked = "research", []
    while phase:
        contract = shelf.contract(phase)
        walked.append((phase, contract.profile, contract.version, contract.artifact))
        assert len(contract.instructions) > 1000
        phase = contract.next_phase
    folder = "docs/tickets/{identifier}"
    assert walked == [
        ("research", "researcher", 1, f"{folder}/research.md"),
        ("architecture", "researcher", 1, f"{folder}/design.md"),
        ("grooming", "planner", 1, f"{folder}/grooming.md"),
        ("ready", "worker", 1, ""),
    ]
    assert shelf.contract("ready").write_areas == ("**",)


@pytest.mark.parametrize("phase", ["research", "architecture", "grooming"])
def test_what_the_instructions_describe_is_what_is_asked_for(tmp_path: Path, phase: str) -> None:
    """Each required section is explained, so an agent that follows the text passes."""
    contract = ContractDirectory(home=tmp_path, evidence=LocalEvidence(clock=HandClock())).contract(
        phase
    )
    for section in contract.sections:
        assert f"- **{section}**: " in contract.instructions
    artifact = "# Title\n" + "".join(
        f"\n## {name}\n\n{'words ' * 9}\n" for name in contract.sections
    )
    assert artifact_faults(contract, artifact) == []
    assert artifact_faults(contract, "# Title")


def test_a_project_has_its_own_contracts(tmp_path: Path) -> None:
    """Its folder of settings comes before its prompts, and both before what ships."""
    shelf = ContractDirectory(home=tmp_path, evidence=LocalEvidence(clock=HandClock()))
    write(tmp_path, OTHER, "research")
    write(tmp_path, OTHER, "design")
    write(tmp_path, OTHER, "Not A Phase")
    assert shelf.contract("research").instructions == f"Of {OTHER}."
    write(tmp_path, OWN, "research")
    assert shelf.contract("research").instructions == f"Of {OWN}."
    assert shelf.contract("research").source == f"{OWN}/research.md"
    assert shelf.contract("design").version == 7
    assert shelf.contract("ready").version == 1
    assert shelf.phases() == sorted([*SHIPPED, "design"])


def test_a_phase_without_a_contract_is_refused(tmp_path: Path) -> None:
    """The refusal names those there are; what is no name is not looked for."""
    shelf = ContractDirectory(home=tmp_path, evidence=LocalEvidence(clock=HandClock()))
    with pytest.raises(NotFound) as caught:
        shelf.contract("testing")
    assert "architecture, grooming, ready, research" in caught.value.hint
    for name in ("../research", "Research", ""):
        with pytest.raises(InvalidInput) as refused:
            shelf.contract(name)
        assert "research" in refused.value.hint


def test_a_contract_that_cannot_be_read_is_never_passed_over(tmp_path: Path) -> None:
    """A weaker one that ships does not take its place; all that is wrong is said."""
    shelf = ContractDirectory(home=tmp_path, evidence=LocalEvidence(clock=HandClock()))
    write(tmp_path, OWN, "research", "---\nversion: x\nmin_chars: y\n---\nGo.")
    with pytest.raises(MalformedDocument) as caught:
        shelf.contract("research")
    assert caught.value.message.startswith(f"{OWN}/research.md: line 1: ")
    assert [fault["line"] for fault in caught.value.facts["faults"]] == [1, 1, 2, 3]
    write(tmp_path, OWN, "research", "---\n" + "".join(f"k{n}: v\n" for n in range(9)) + "---\n")
    with pytest.raises(MalformedDocument) as caught:
        shelf.contract("research")
    assert "; and 8 more" in caught.value.message
    (tmp_path / OWN / "research.md").write_bytes(b"---\n\xff\n---\n")
    with pytest.raises(MalformedDocument, match="line 2"):
        shelf.contract("research")
    write(tmp_path, OWN, "research", "x" * (SIZE_LIMIT + 1))
    with pytest.raises(InvalidInput, match=f"more than {SIZE_LIMIT} bytes"):
        shelf.contract("research")


def test_a_contract_that_leads_outside_is_refused(tmp_path: Path) -> None:
    """A link does not make another file a contract."""
    home = tmp_path / "home"
    write(tmp_path, "outside", "research")
    (home / ".counterpoint").mkdir(parents=True)
    (home / OWN).symlink_to(tmp_path / "outside")
    with pytest.raises(PathOutside):
        ContractDirectory(home=home, evidence=LocalEvidence(clock=HandClock())).contract("research")


def test_a_projects_own_contracts_are_for_everybody(tmp_path: Path) -> None:
    """Git sees them in the folder of settings, where it sees nothing of the ledger."""
    open_folder(tmp_path / ".counterpoint")
    write(tmp_path, OWN, "research")
    write(tmp_path, ".counterpoint", "ledger")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    listed = ["git", "-C", tmp_path, "ls-files", "--others", "--exclude-standard"]
    shown = subprocess.run(listed, check=True, capture_output=True, text=True)
    assert shown.stdout.split() == [f"{OWN}/research.md"]
