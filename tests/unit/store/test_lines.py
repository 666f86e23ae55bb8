"""Append-only lines: whole or not there, and one writer at a time."""

import errno
import os
from pathlib import Path

import pytest

from kernelwright.errors import StoreError
from kernelwright.records.candidate import Define
from kernelwright.store.files import open_lines

ONE, TWO, THREE = (Define(name=name, value=1) for name in ("one", "two", "three"))


def read(file):
    with open_lines(Define, file) as lines:
        return lines.read()


def write(file, *records):
    with open_lines(Define, file) as lines:
        for record in records:
            lines.append(record)


def test_lines_are_read_back_in_order(tmp_path):
    write(tmp_path / "lines", ONE, TWO)
    write(tmp_path / "lines", THREE)
    assert read(tmp_path / "lines") == [ONE, TWO, THREE]


def test_a_torn_line_takes_no_other_with_it(tmp_path):
    file = tmp_path / "lines"
    write(file, ONE, TWO)
    file.write_bytes(file.read_bytes()[:-5])
    assert read(file) == [ONE]
    write(file, THREE)
    assert read(file) == [ONE, THREE]


def test_lines_of_another_version_are_left_out(tmp_path):
    (tmp_path / "lines").write_text('{"name": "zero", "later": 1}\n\n[]\n')
    write(tmp_path / "lines", ONE)
    assert read(tmp_path / "lines") == [ONE]


def test_a_second_writer_is_told_to_wait(tmp_path):
    with (
        open_lines(Define, tmp_path / "lines"),
        pytest.raises(StoreError, match="another process"),
        open_lines(Define, tmp_path / "lines"),
    ):
        pass
    assert read(tmp_path / "lines") == []


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(StoreError, match="cannot be written"), open_lines(Define, tmp_path / "no" / "lines"):
        pass


@pytest.mark.parametrize("short", [True, False])
def test_a_full_disk_is_said_with_its_cure_and_the_next_line_is_whole(tmp_path, monkeypatch, short):
    real = os.write

    def write(descriptor, data):
        if short:
            return real(descriptor, data[:7])
        raise OSError(errno.ENOSPC, "No space left on device")

    with open_lines(Define, tmp_path / "lines") as lines:
        lines.append(ONE)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", write)
            with pytest.raises(StoreError, match="goes on from there"):
                lines.append(TWO)
        lines.append(THREE)
    assert read(tmp_path / "lines") == [ONE, THREE]


def test_a_device_is_no_file_to_continue():
    with pytest.raises(StoreError, match="no regular file"), open_lines(Define, Path("/dev/null")):
        pass
