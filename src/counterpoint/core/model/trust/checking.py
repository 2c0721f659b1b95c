"""What a project's configuration says of commands, models and the web."""

from __future__ import annotations

from dataclasses import field
from typing import Final, Literal

from counterpoint.core.model.models import Modelling
from counterpoint.core.model.web import Browsing
from counterpoint.kernel.frozen import frozen

CONFIGURATION: Final = "counterpoint.toml"
"""The file of a project that says it, in the project's own folder."""
Sandboxing = Literal["auto", "require", "off"]


_READERS: Final = {
    ".ssh": "ssh scp sftp rsync git ansible",
    ".gnupg": "gpg gpg2 git pass",
    ".password-store": "pass",
    ".local/share/keyrings": "keyring secret-tool",
    ".1password .config/op": "op",
    ".git-credentials .config/git/credentials": "git",
    ".netrc": "curl wget git pip requests",
    ".config/gh": "gh",
    ".claude .claude.json": "claude",
    ".codex": "codex",
    ".gemini": "gemini",
    ".aws": "aws boto3 botocore terraform cdk sam",
    ".azure": "az azure terraform",
    ".config/gcloud": "gcloud gsutil bq google terraform",
    ".docker": "docker podman buildx compose",
    ".kube": "kubectl helm kustomize k9s",
    ".npmrc": "npm npx pnpm yarn bun",
    ".pypirc": "twine pypi pip uv flit hatch",
    ".cargo/credentials .cargo/credentials.toml": "cargo",
    ".pgpass .pg_service.conf .postgresql": "psql pg_dump pg_restore psycopg asyncpg libpq postgres",
    ".my.cnf .mylogin.cnf": "mysql mysqldump mariadb pymysql",
    ".config/rclone": "rclone restic",
    ".s3cfg": "s3cmd",
    ".boto": "gsutil boto",
    ".vault-token": "vault terraform",
    ".config/sops": "sops age",
    ".terraform.d/credentials.tfrc.json .terraformrc": "terraform tofu",
    ".pulumi/credentials.json": "pulumi",
    ".oci": "oci terraform",
    ".config/containers/auth.json": "podman buildah skopeo",
    ".config/helm/registry": "helm",
    ".config/doctl": "doctl",
    ".config/hcloud": "hcloud",
    ".m2/settings.xml .m2/settings-security.xml": "mvn mvnw maven",
    ".gem/credentials .local/share/gem/credentials": "gem rake",
    ".sbt/.credentials": "sbt",
    ".composer/auth.json .config/composer/auth.json": "composer",
    ".config/glab-cli": "glab",
    ".config/hub": "hub",
    ".config/github-copilot": "copilot nvim",
    ".config/cursor/auth.json": "cursor",
    ".local/share/opencode/auth.json": "opencode",
    ".huggingface/token .cache/huggingface/token": "huggingface transformers hf",
}
READERS_OF_KEYS: Final = {
    path: tuple(programs.split()) for paths, programs in _READERS.items() for path in paths.split()
}
"""Keys of the person, and logins of agents, clouds, databases and registries, by their path in a home, with the programs that read each."""
KEYS: Final = tuple(READERS_OF_KEYS)
FILES_OF_LOGINS: Final = ("PGPASSFILE", "PGSERVICEFILE", "PGSSLKEY", "PGSSLCERT")
"""Variables that name files which hold a login."""
LEADING: Final = {
    "containers": (
        *("DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST", "CONTAINERD_ADDRESS", "BUILDKIT_HOST"),
        *("CONTAINER_RUNTIME_ENDPOINT", "LIBVIRT_DEFAULT_URI", "LXD_SOCKET", "INCUS_SOCKET"),
    ),
    "display": (
        *("DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "SESSION_MANAGER"),
        "ICEAUTHORITY",
    ),
    "editors": (
        *("VSCODE_IPC_HOOK", "VSCODE_IPC_HOOK_CLI", "VSCODE_IPC_HOOK_EXTHOST"),
        *("VSCODE_GIT_IPC_HANDLE", "EMACS_SERVER_FILE", "EMACS_SOCKET_NAME", "NVIM"),
        "NVIM_LISTEN_ADDRESS",
    ),
}
"""Variables that lead to programs which act for whoever asks, by the kind of these programs."""


@frozen
class Checking:
    """How commands are run, and which.

    sandbox: `auto`: as far as the system lets it; `require`: or not at all; `off`. network: whether commands reach it.
    commands: those that may be run, each a list of words; a last `*` stands for any after it. free: whether any other may.
    mirrors: whether work is kept as files of the tree too; None: where their folder is there.
    home: what of the home that holds logins commands see all the same, by its path in it. sockets: variables of `LEADING` that commands
    get, with the sockets of that kind.
    models: whom it asks for models. web: whom it asks for searches, and which pages are fetched.
    """

    sandbox: Sandboxing = "auto"
    network: bool = True
    commands: tuple[tuple[str, ...], ...] = ()
    free: bool = False
    mirrors: bool | None = None
    home: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    models: Modelling = field(default_factory=Modelling)
    web: Browsing = field(default_factory=Browsing)


@frozen
class Lacking:
    """Commands that would not be run now. why: what is wrong with the configuration itself; empty if they only are not listed.

    items: for each command an item whose check it is, where that was asked for.
    """

    commands: tuple[tuple[str, ...], ...] = ()
    why: str = ""
    items: tuple[str, ...] = ()


def is_key(path: object) -> bool:
    """Return whether something is the path in a home of what is hidden there, or of a part of it."""
    return isinstance(path, str) and any(
        path == key or (path.startswith(f"{key}/") and ".." not in path.split("/")) for key in KEYS
    )
