"""Puts what the surfaces list, and the man pages of the commands, into the wheel.

The relay looks there for the lists first; `man` finds the pages below the environment.

It is the hook of the build, and the program that the hook starts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Listings(BuildHookInterface[Any]):
    """Has the lists worked out from the very source that is packed, by a process of its own."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add a file for each surface; nothing to an editable wheel, whose source changes."""
        if version == "editable":
            return
        self._made = tempfile.TemporaryDirectory()
        # What is on the path stays: a front end gives an isolated build its packages so.
        paths = [str(Path(self.root, "src")), *filter(None, [os.environ.get("PYTHONPATH")])]
        ran = subprocess.run(  # noqa: S603 this very file, with a folder that was just made
            [sys.executable, "-P", "-B", __file__, self._made.name],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        for path in sorted(Path(self._made.name).glob("*.json")):
            build_data["force_include"][str(path)] = f"counterpoint/listings/{path.name}"
        for path in sorted(Path(self._made.name).glob("*.1")):
            build_data["shared_data"][str(path)] = f"share/man/man1/{path.name}"
        if ran.stdout:
            self.app.display_warning(
                f"This wheel has no lists of tools, for here is {ran.stdout.strip()}; "
                "the first start of each user works them out."
            )

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what is in the wheel now."""
        del build_data, artifact_path
        if version != "editable":
            self._made.cleanup()


def write(folder: Path) -> None:
    """Write a list for each surface, and what it follows from; print what cannot be imported."""
    try:
        import orjson

        from counterpoint.cli.server.listings import listing_of
        from counterpoint.dialects.registry import names
        from counterpoint.kernel.listing_cache import protocol_packages
    except ImportError as error:
        print(error)
        return
    for name in names():
        listing = listing_of(name) | {"packages": protocol_packages()}
        (folder / f"{name}.json").write_bytes(orjson.dumps(listing))
    # Beside this file, which is no package.
    sys.path.insert(0, str(Path(__file__).parent))
    import manual

    manual.write(folder)


if __name__ == "__main__":
    # Whoever builds apart may have taken the folders of the environment off the path, this one among them.
    sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
    write(Path(sys.argv[1]))
