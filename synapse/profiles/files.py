"""The files of profiles: the user's own come before the built-in ones. `synapse --help` loads only this."""

import os

from synapse.agents import folders
from synapse.base import paths
from synapse.errors import ProfileError


def profile_names() -> list[str]:
    return sorted(all_files())


def user_file(name: str) -> str | None:
    base = os.path.join(paths.user_profiles_dir(), name)
    found = [base + end for end in (".yaml", ".yml") if os.path.lexists(base + end)]
    if len(found) > 1:
        raise ProfileError(f"there are both {found[0]} and {found[1]}: remove one of them.")
    return found[0] if found else None


def shipped_file(name: str) -> str | None:
    """The profile that comes with Synapse, or with an installed package that adds a CLI."""
    path = os.path.join(paths.builtin_profiles_dir(), name + ".yaml")
    return path if os.path.exists(path) else folders.installed_profiles().get(name)


def all_files() -> dict[str, str]:
    """The file of every name; the user's own before a built-in one, and that before an installed one."""
    files = folders.installed_profiles()
    for folder in (paths.builtin_profiles_dir(), paths.user_profiles_dir()):
        try:
            entries = sorted(os.listdir(folder))
        except OSError:
            continue
        for entry in entries:
            name, end = os.path.splitext(entry)
            if end in (".yaml", ".yml") and not entry.startswith("."):
                files[name] = os.path.join(folder, entry)
    return files
