"""`kernelwright-small`: the model that comes with the package, by its name alone.

Its folder is `models/kernelwright-small` of the package, or the one that KERNELWRIGHT_SMALL names, as
`benchmarks/pack_small.py` makes it. This module loads nothing.
"""

import json
import os
from pathlib import Path

from kernelwright.errors import UsageError
from kernelwright.pages import page

NAME = "kernelwright-small"
VARIABLE = "KERNELWRIGHT_SMALL"
LONGEST = 1024
"""Tokens of a reply: its longest kernels have fewer, and what goes on is lost in repeating itself."""
LANGUAGE = "triton"
"""The one that it writes."""
PROMPTS = "kernelwright_prompts"
"""In its `config.json`: the variant of the prompts that it was trained with."""
PACKAGED = Path(__file__).with_name(NAME)


def find_small() -> Path:
    """The folder of the model's weights.

    Raises:
        UsageError: this installation has none; the message says how to get one.
    """
    named = os.environ.get(VARIABLE)
    folder = Path(named) if named else PACKAGED
    if (folder / "config.json").is_file():
        return folder
    where = (
        f"{VARIABLE} names {str(folder)!r}, which holds no model" if named else "this installation has no weights of it"
    )
    raise UsageError(
        f"model {NAME}: {where}. Set {VARIABLE} to a folder that benchmarks/pack_small.py made ({page('training.md')}, "
        "A small model), or name another model: --model hf:FOLDER, --model openai:NAME@URL"
    )


def small_prompts(usual: str) -> str:
    """The variant of prompts that the weights were trained with; the usual one where they say nothing, or there are none."""
    try:
        found = json.loads((find_small() / "config.json").read_text(encoding="utf-8"))
    except (UsageError, OSError, ValueError):
        return usual  # whoever opens the model says what is wrong with it
    return str(found.get(PROMPTS, usual))
