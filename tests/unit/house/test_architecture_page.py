"""The architecture's tables name every package, and every file of the engine; and no page names a file that is not there."""

import re
from pathlib import Path

import pytest

import kernelwright
import kernelwright.engine

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "architecture.md"
PAGES = [p for p in (*sorted((ROOT / "docs").rglob("*.md")), *ROOT.glob("*.md")) if p.name != "log.md"]
FILES = [
    f"/{p.relative_to(ROOT)}"
    for top in ("src", "tests", "benchmarks", "examples", ".ci")
    for p in (ROOT / top).rglob("*.py")
]


def table(title):
    """What the first column of the table under a heading names."""
    section = PAGE.read_text("utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return sorted(name for row in rows for name in re.findall(r"`([^`]+)`", row))


def there(folder):
    """Its packages with a slash and its files, as the page spells them."""
    inside = (p for p in Path(folder).iterdir() if p.name not in ("__init__.py", "__pycache__"))
    return sorted(f"{p.name}/" if p.is_dir() else p.name for p in inside)


def test_the_house_has_every_package():
    assert table("The house") == there(Path(kernelwright.__file__).parent)


def test_the_engine_has_every_file():
    assert table("Who does what in the engine") == there(Path(kernelwright.engine.__file__).parent)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_no_module_that_is_not_there(page):
    named = set(re.findall(r"`([a-z_.]+/[a-z_/]+\.py)`", page.read_text("utf-8")))
    assert not [name for name in sorted(named) if not any(file.endswith(f"/{name}") for file in FILES)]
