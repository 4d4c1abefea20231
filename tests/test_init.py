"""The public names of the package."""

from __future__ import annotations

import subprocess
import sys

import pytest

import synapse


def test_every_public_name_is_there() -> None:
    for name in synapse.__all__:
        assert getattr(synapse, name).__name__.removeprefix("synapse.api.") == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nobody'"):
        _ = synapse.nobody  # type: ignore[attr-defined]


def test_importing_it_loads_none_of_them() -> None:
    probe = "import sys, synapse; print([name for name in sys.modules if name.startswith('synapse.')])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
