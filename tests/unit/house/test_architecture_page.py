"""The architecture's tables name every package, and every file of the engine; and nothing that is not there."""

import re
from pathlib import Path

import kernelwright
import kernelwright.engine

PAGE = Path(__file__).parents[3] / "docs" / "architecture.md"


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
