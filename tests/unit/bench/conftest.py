"""A bench in process, with scripted parts, on tasks that are never run."""

import pytest

from kernelwright.testing.samples import SOURCE


@pytest.fixture
def tasks(tmp_path):
    """Three tasks; the third cannot be admitted."""
    folder = tmp_path / "tasks"
    folder.mkdir()
    for name, more in (("a", ""), ("b", "# another\n"), ("c", "# raise\n")):
        (folder / f"{name}.py").write_text(SOURCE + more)
    return folder
