"""Which cache of keys and values writes faster on a GPU: `python benchmarks/train_caches.py MODEL DATA OUT.json [BATCH]`.

A small model's step takes longer to start than to run. With the static cache, transformers compiles a step and replays it. OUT
gets the seconds that a token of a batch takes with each, and how many of the greedy texts begin alike, as they must.
"""

import json
import sys
import time
from pathlib import Path

from kernelwright.engine.suppliers import Suppliers
from kernelwright.records.policy import Policy
from kernelwright.train.data.sample import read_samples
from kernelwright.train.engine.network import open_network
from kernelwright.train.engine.sampling import Sampling, draw
from kernelwright.train.environment import Assignment, Environment, Settings
from kernelwright.train.session import open_judges

TOKENS = 64
ALIKE = 8
"""Characters that the texts must share: behind a near tie they may differ."""


def main(model: str, data: str, out: str, batch: int = 32) -> None:
    """Try both, three times each; the first of the static cache compiles."""
    network = open_network(model)
    network.model.to("cuda")
    tasks = [Assignment(task=one.task, split=one.split) for one in read_samples(Path(data))[:batch]]
    environment = Environment(tasks, open_judges(Suppliers(), Policy(), 1), Settings())
    found: dict[str, float] = {}
    written: dict[str, list[str]] = {}
    for how in (Sampling(1, 0.0, TOKENS, batch), Sampling(1, 0.0, TOKENS, batch, cache="static")):
        times = []
        for _ in range(3):
            since = time.monotonic()
            written[how.cache] = [text for group in draw(network, environment, tasks, how) for text in group]
            times.append((time.monotonic() - since) / TOKENS)
        found |= {how.cache: min(times), f"{how.cache}_first": times[0]}
    pairs = list(zip(written["dynamic"], written["static"], strict=True))
    found["alike"] = sum(a[:ALIKE] == b[:ALIKE] for a, b in pairs) / len(pairs)
    Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:5]))
