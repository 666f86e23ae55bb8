"""A file that is written whole or not at all."""

import os
from pathlib import Path

import pytest

from kernelwright.errors import StoreError
from kernelwright.store.files import write_whole


def test_a_text_takes_the_place_of_another_and_nothing_else_is_left(tmp_path):
    file = tmp_path / "page.html"
    file.write_text("before")
    assert write_whole(file, "aftér") == file
    assert file.read_text("utf-8") == "aftér"
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk_leaves_what_was_there_and_no_draft(tmp_path, full_disk):
    file = tmp_path / "page.html"
    file.write_text("before")
    full_disk()
    with pytest.raises(StoreError, match=r"page.html cannot be written \(No space left on device\): check the path"):
        write_whole(file, "after")
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("place", ["no/page.html", "."])
def test_a_place_that_cannot_be_written_is_said(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="cannot be written"):
        write_whole(Path(place), "after")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").write_text("before")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    write_whole(tmp_path / "link", "after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there").read_text() == "after"


def test_a_pipe_is_written_into(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", "after")
    assert os.read(reader, 9) == b"after"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
