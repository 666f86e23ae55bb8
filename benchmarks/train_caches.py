"""How fast a GPU writes replies, in three ways: `python benchmarks/train_caches.py MODEL DATA OUT.json [ROWS] [TOKENS]`.

A small model's step takes longer to launch than to run. `dynamic` is transformers' `generate`; `static` records a step once a
batch and replays it (`train/engine/decoding.py`); `compiled` is `generate` with transformers' static cache, which compiles.
OUT gets the seconds of three batches of each, or why there are none, and how many of the greedy texts are the same.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kernelwright.records.policy import Policy
from kernelwright.train.data.sample import read_samples
from kernelwright.train.engine.network import Network, open_network
from kernelwright.train.engine.sampling import Sampling, draw
from kernelwright.train.environment import Assignment, Environment, Settings
from kernelwright.train.session import open_judges

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
TIMES = 3
ALIKE = 200
"""Characters that the texts must share: behind a near tie they may differ."""


def main(model: str, data: str, out: str, rows: int = 64, tokens: int = 256) -> None:
    """Try each, three times."""
    from kernelwright.engine.suppliers import Suppliers  # noqa: PLC0415  as the training does

    network = open_network(model)
    network.model.to("cuda")
    tasks = [Assignment(task=one.task, split=one.split) for one in read_samples(Path(data))[:rows]]
    environment = Environment(tasks, open_judges(Suppliers(), Policy(), 1), Settings())
    asked = [network.prompt_ids(environment.opening(task)) for task in tasks]
    ways: dict[str, Callable[[], list[str]]] = {
        "dynamic": lambda: _drawn(network, environment, tasks, tokens, "dynamic"),
        "static": lambda: _drawn(network, environment, tasks, tokens, "static"),
        "compiled": lambda: _compiled(network, asked, tokens),
    }
    found: dict[str, object] = {"rows": len(tasks), "tokens": tokens}
    texts = {name: _timed(name, way, found) for name, way in ways.items()}
    for name in ("static", "compiled"):
        pairs = zip(texts["dynamic"], texts[name], strict=False)
        found[f"{name}_alike"] = sum(a[:ALIKE] == b[:ALIKE] for a, b in pairs) / len(tasks)
    Path(out).write_text(json.dumps(found))
    sys.stdout.write(json.dumps(found) + "\n")


def _timed(name: str, way: Callable[[], list[str]], found: dict[str, object]) -> list[str]:
    """Its texts, with the seconds of each time; of one that fails, why."""
    times, texts = [], []
    for _ in range(TIMES):
        since = time.monotonic()
        try:
            texts = way()
        except RuntimeError as error:  # of the device, or of a compiler
            found[f"{name}_failed"] = str(error)[:500]
            break
        times.append(round(time.monotonic() - since, 2))
    found[f"{name}_s"] = times
    return texts


def _drawn(network: Network, environment: Environment, tasks: list[Assignment], tokens: int, cache: str) -> list[str]:
    how = Sampling(1, 0.0, tokens, len(tasks), cache=cache)  # type: ignore[arg-type]
    return [reply.text for group in draw(network, environment, tasks, how) for reply in group]


def _compiled(network: Network, asked: list[list[int]], tokens: int) -> list[str]:
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    width, pad = max(map(len, asked)), network.tokenizer.pad_token_id
    ids = torch.tensor([[pad] * (width - len(p)) + p for p in asked], device="cuda")
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in asked], device="cuda")
    settings = transformers.GenerationConfig(
        max_new_tokens=tokens,
        do_sample=False,
        eos_token_id=network.end,
        pad_token_id=pad,
        cache_implementation="static",
    )
    with torch.no_grad():
        made = network.model.generate(input_ids=ids, attention_mask=mask, generation_config=settings)
    return [network.tokenizer.decode(row, skip_special_tokens=True) for row in made[:, width:].tolist()]


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:6]))
