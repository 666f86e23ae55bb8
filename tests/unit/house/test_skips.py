"""The hook that makes a skip without a good reason fail under CI, tried on small suites of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOOK = Path(__file__).parents[2] / "conftest.py"


def run(folder, body, ci=True, options=()):
    (folder / "conftest.py").write_text(HOOK.read_text("utf-8"))
    (folder / "test_it.py").write_text("import pytest\n" + body)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    gpu: x\n    live: y\n")
    environment = {k: v for k, v in os.environ.items() if k not in {"CI", "KERNELWRIGHT_LIVE_KEY"}}
    environment |= {"CI": "true"} if ci else {}
    environment["PATH"] = str(folder)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


FINE = "def test_fine():\n    assert True\n"


NO_TIME = "@pytest.mark.skip(reason='no time')\ndef test_a():\n    pass\n"


@pytest.mark.parametrize(
    ("body", "options"),
    [
        (NO_TIME, ()),
        (NO_TIME, ("-n", "1")),
        ("def test_a():\n    pytest.skip('no browser')\n", ()),
        ("pytest.skip('whole file', allow_module_level=True)\n", ()),
        ("pytest.importorskip('no_such_module_at_all')\n", ("-n", "1")),
    ],
)
def test_any_other_skip_fails_under_ci(tmp_path, body, options):
    status, told = run(tmp_path, FINE + body, options=options)
    assert status in {1, 5}
    assert status != 0
    assert "skipped for no good reason" in told


def test_it_is_only_named_elsewhere(tmp_path):
    status, told = run(tmp_path, FINE + "def test_a():\n    pytest.skip('no browser')\n", ci=False)
    assert status == 0
    assert "no browser" in told


@pytest.mark.parametrize("marker", ["gpu", "live"])
def test_a_missing_gpu_or_key_is_a_good_reason(tmp_path, marker):
    status, told = run(tmp_path, FINE + f"@pytest.mark.{marker}\ndef test_a():\n    assert False\n")
    assert status == 0, told
    assert "1 passed, 1 skipped" in told


def test_an_expected_failure_is_no_skip(tmp_path):
    status, told = run(tmp_path, FINE + "@pytest.mark.xfail\ndef test_a():\n    assert False\n")
    assert status == 0, told
