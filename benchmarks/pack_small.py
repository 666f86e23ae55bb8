"""Packs a pipeline's model as `kernelwright-small`: `python benchmarks/pack_small.py PIPELINE [FOLDER] [--untested]`.

PIPELINE is the folder of `kernelwright train pipeline`. FOLDER gets the weights in eight bits, the tokenizer and a model
card with the figures as they were measured; without it, it is the package's own place, from where `--model kernelwright-small`
takes it. A model without figures is packed with --untested alone, and its card says so. More than 30 MB is refused.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from kernelwright.models.quantized import FILE, pack
from kernelwright.models.small import NAME, PACKAGED, PROMPTS
from kernelwright.train.recipe import MODEL, RECIPE, RECIPES

MOST = 30_000_000
CARD = """\
---
license: apache-2.0
library_name: transformers
pipeline_tag: text-generation
---
# {name}

A small causal language model that writes Triton kernels for pointwise operations, rows, reductions, losses, scans, pooling and
small products without parameters. It knows nothing else: no convolutions, no conversation. Trained from scratch with a
tokenizer of its own, on pairs of random modules and the built-in author's kernels (`benchmarks/results/train-pairs*.md`), in
many forms of one meaning (`train/data/forms.py`), with the first prompt of the role `frontend`; it understands no other.

| | |
|---|---|
{rows}

Weights: `{file}`, eight bits a weight with a scale for each row; the figures above were measured before they were rounded.
Every kernel that it writes goes before the referee like anybody's. Recipe and figures: `docs/training.md`.
"""


def main() -> int:
    """Pack, and say how large it is."""
    asked = arguments()
    file = asked.out / "figures.json"
    figures = json.loads(file.read_text()) if file.exists() else {}
    figures |= figures.pop("stages", {})
    if not figures.get("before") and not asked.untested:
        sys.stderr.write("no figures of this model: measure it with `kernelwright train pipeline`, or say --untested\n")
        return 2
    label = next(name for name in ("grpo", "sft") if (asked.out / name / MODEL).exists())
    size = pack(asked.out / label / MODEL, asked.folder)
    say_prompts(asked.out / label, asked.folder)
    if size > MOST:
        sys.stderr.write(f"{size / 1e6:.1f} MB are more than the repository takes ({MOST / 1e6:.0f})\n")
        return 1
    rows = "\n".join(f"| {name} | {value} |" for name, value in told(figures, label).items())
    (asked.folder / "README.md").write_text(CARD.format(name=NAME, rows=rows, file=FILE))
    sys.stdout.write(f"{asked.folder}: {size / 1e6:.1f} MB\n")
    return 0


def say_prompts(training: Path, folder: Path) -> None:
    """The weights' own configuration says which prompts they know."""
    recipe = RECIPES.validate_json((training / RECIPE).read_text())
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {PROMPTS: recipe.variant}, indent=2) + "\n")


def told(figures: dict[str, Any], label: str) -> dict[str, str]:
    """The card's table."""
    found = {
        "trained by": {"sft": "supervised fine-tuning", "grpo": "supervised fine-tuning, then GRPO"}.get(label, label)
    }
    if not figures:
        return {**found, "measured": "never: the weights may be noise"}
    after = figures.get("after" if label == "grpo" else "before", {})
    rates = {k: v for k, v in after.items() if k.startswith("pass@")}
    shown = {
        f"{k} on {v['tasks']} held-out tasks": f"{v['rate']:.3f} (95 %: {v['low']:.3f} to {v['high']:.3f})"
        for k, v in rates.items()
    }
    author = figures["before"].get("author", {})
    return {
        **found, **(shown or {"measured": "not yet after the last stage"}),
        "the built-in author on the same tasks": f"{author.get('right', '?')} of {author.get('kernels', '?')}",
        "device": figures["device"], "date": figures["date"], "commit": figures["commit"],
    }  # fmt: skip


def arguments() -> argparse.Namespace:
    """The command line."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("out", type=Path)
    found.add_argument("folder", type=Path, nargs="?", default=PACKAGED)
    found.add_argument("--untested", action="store_true")
    return found.parse_args()


if __name__ == "__main__":
    sys.exit(main())
