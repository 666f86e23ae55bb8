"""A language's contract in short, as the prompts have it: for whoever else has to tell it.

Decides nothing: the words stand in `prompts/parts/code-LANGUAGE.md`, and nowhere else.
"""

from importlib.resources import files

from kernelwright.records.candidate import Language


def contract(language: Language) -> str:
    """What a source of this language has to keep, with an example: Markdown, a few lines and a block of code."""
    folder = files("kernelwright.propose.llm").joinpath("prompts", "parts")
    return folder.joinpath(f"code-{language}.md").read_text(encoding="utf-8").strip()
