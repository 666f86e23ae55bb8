"""The size check finds what is too long; a room may shrink by itself and grows only with a reason."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
AUTHOR = "src/kernelwright/author"


def sizes(root, *options):
    command = [sys.executable, str(ROOT / ".ci" / "sizes.py"), "--root", str(root), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.fixture
def house(tmp_path):
    """A tree whose author has ten lines, which is its budget."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "sizes.toml").write_text(f'most = 1000\n[lines]\n"src/kernelwright" = 2\n"{AUTHOR}" = 10\n')
    fill(tmp_path, 10)
    return tmp_path


def fill(root, lines, name="plan.py"):
    (root / AUTHOR).mkdir(parents=True, exist_ok=True)
    (root / AUTHOR / name).write_text("x = 1\n" * lines)


def granted(root):
    found = tomllib.loads((root / ".ci" / "sizes.toml").read_text())
    return found["lines"].get(AUTHOR), [(rise["lines"], rise["why"]) for rise in found.get("rises", [])]


def test_every_file_of_the_project_has_a_room():
    assert "in no room" not in sizes(ROOT)[1]


def test_what_is_too_long_is_named(house):
    (house / "benchmarks").mkdir()
    (house / "benchmarks" / "a.py").write_text("def f():\n" + "    x = 1\n" * 60)
    fill(house, 501)
    status, said = sizes(house)
    assert status == 1
    assert "benchmarks/a.py:1 f: 61 lines, at most 60" in said
    assert f"{AUTHOR}/plan.py: 501 lines, at most 500" in said
    assert "benchmarks/a.py: in no room" in said


def test_a_room_beyond_its_lines_fails(house):
    assert sizes(house) == (0, "")
    fill(house, 3, "more.py")
    status, said = sizes(house)
    assert status == 1
    assert f"{AUTHOR}: 13 lines, its budget is 10" in said
    assert sizes(house, "--write")[0] == 1, "writing lowers only"


def test_a_rise_says_what_for_and_goes_again_first(house):
    fill(house, 3, "more.py")
    assert sizes(house, "--raise", " ")[0] == 2
    assert sizes(house, "--raise", "the family of sorts") == (0, "")
    assert granted(house) == (10, [(3, "the family of sorts")])
    fill(house, 1, "more.py")
    assert sizes(house, "--write") == (0, "")
    assert granted(house) == (10, [(1, "the family of sorts")])
    fill(house, 4)
    sizes(house, "--write")
    assert granted(house) == (5, [])


def test_a_rise_without_a_reason_is_none(house):
    record = house / ".ci" / "sizes.toml"
    record.write_text(record.read_text() + f'[[rises]]\nroom = "{AUTHOR}"\nlines = 5\n')
    fill(house, 12)
    assert sizes(house)[0] == 1


def test_the_whole_has_a_bound_that_no_command_raises(house):
    for number in range(3):
        fill(house, 400, f"more{number}.py")
    status, said = sizes(house, "--raise", "much to do")
    assert status == 1
    assert said == "src: 1210 lines without technique cards, at most 1000\n"


def test_technique_cards_do_not_count(house):
    cards = house / "src/kernelwright/knowledge/techniques/cards/split"
    cards.mkdir(parents=True)
    (cards / "kernel.py").write_text("x = 1\n" * 400)
    assert sizes(house) == (0, "")
