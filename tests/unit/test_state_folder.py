"""A user without a home has a place of its own all the same."""

from pathlib import Path

import pytest

from kernelwright import pages


def test_a_user_without_a_home_has_places_among_the_temporary_files(monkeypatch, tmp_path):
    def none():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert tmp_path in pages.state_folder().parents
    assert tmp_path in pages.cache_folder().parents


@pytest.mark.parametrize("name", ["XDG_STATE_HOME", "XDG_CACHE_HOME"])
def test_a_place_that_was_named_needs_no_home(monkeypatch, tmp_path, name):
    monkeypatch.setenv(name, str(tmp_path))
    assert {"XDG_STATE_HOME": pages.state_folder, "XDG_CACHE_HOME": pages.cache_folder}[name]().parent == tmp_path
