"""Figures in the user's cache: found again, and whole whoever else writes them."""

import threading
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from kernelwright.evaluate.backends import kept
from kernelwright.pages import cache_folder

KIND = TypeAdapter(dict[str, int])


def test_what_is_kept_is_read_again(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = cache_folder() / "deep" / "figures.json"
    kept.keep(KIND, file, {"a": 1})
    assert kept.read(KIND, file) == {"a": 1}
    assert file.is_relative_to(tmp_path)
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("text", ["", "{", '{"a": "one"}'])
def test_what_is_illegible_or_missing_is_none(tmp_path, text):
    (tmp_path / "figures.json").write_text(text)
    assert kept.read(KIND, tmp_path / "figures.json") is None
    assert kept.read(KIND, tmp_path / "nothing.json") is None


def test_what_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "in the way").write_text("")
    (tmp_path / "figures.json").mkdir()
    for file in (tmp_path / "in the way" / "figures.json", tmp_path / "figures.json"):
        kept.keep(KIND, file, {"a": 1})
        assert kept.read(KIND, file) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures.json", "in the way"]


def test_two_threads_of_one_process_never_write_the_same_draft(monkeypatch, tmp_path):
    """Both have written their draft before either takes its place."""
    file, both, replace, drafts = tmp_path / "figures.json", threading.Barrier(2, timeout=10), Path.replace, []

    def late(draft, place):
        drafts.append(draft)
        both.wait()
        return replace(draft, place)

    monkeypatch.setattr(Path, "replace", late)
    writers = [threading.Thread(target=kept.keep, args=(KIND, file, {"a": n})) for n in (1, 2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(set(drafts)) == 2
    assert kept.read(KIND, file) in ({"a": 1}, {"a": 2})
    assert list(tmp_path.iterdir()) == [file]
