"""The page for coding agents, as it was installed. Needs no SDK."""

from importlib.resources import files


def skill() -> str:
    """The text of SKILL.md."""
    return files("kernelwright.interfaces.mcp").joinpath("SKILL.md").read_text(encoding="utf-8")
