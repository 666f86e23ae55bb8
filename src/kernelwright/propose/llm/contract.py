"""A language's contract in short, taken from `prompts/parts/code-LANGUAGE.md`, for others that have to state it."""

from importlib.resources import files

from kernelwright.records.candidate import Language


def contract(language: Language) -> str:
    """What a source of this language has to keep, with an example: Markdown, a few lines and a block of code."""
    folder = files("kernelwright.propose.llm").joinpath("prompts", "parts")
    return folder.joinpath(f"code-{language}.md").read_text(encoding="utf-8").strip()
