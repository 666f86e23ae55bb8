"""What share of a small model's replies holds a kernel, under the prompts of two versions.

    PYTHONPATH=tests:tests/system python benchmarks/parsable.py --old TREE --model MODEL --out FILE [--device cuda]

The prompts are the coder's of the mock model's runs (`prompts.py`), so that both versions are asked at the same steps of the
same searches; a real model then answers each, `--samples` times. MODEL is a checkpoint's folder or a GGUF file. A reply
counts as parsable if the reader of this checkout finds a kernel in it, and as its own if that is not the one in the prompt.
`--prompts FILE` keeps the prompts, or takes them from there: another machine need not play the runs. Goes on where it was cut.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from prompts import Arm
from pydantic import JsonValue
from test_golden_transcripts import FAULTS, TASK

from kernelwright.propose.llm.parse import Kernel, parse
from kernelwright.records.chat import ChatReply
from kernelwright.train.engine.network import Network, open_network
from mock_llm import MockLLMServer, wire

HERE = Path(__file__).parents[1]
STRATEGIES = ("direct", "fsr", "cudaforge_best", "tritongym_refine", "tritongym_reflective", "frontend_midend")
Messages = list[dict[str, str]]
Row = dict[str, Any]
RESAMPLES = 2000


class Recorder(MockLLMServer):
    """Keeps what its coder was asked."""

    def __init__(self, seed: int) -> None:
        super().__init__([TASK], seed, FAULTS)
        self.asked: list[Messages] = []

    def reply(self, raw: bytes) -> Any:  # noqa: ANN401
        """As the mock model, and the messages are kept."""
        if wire.read(raw).prompt.role == "coder":
            self.asked.append(json.loads(raw)["messages"])
        return super().reply(raw)


def recorded(tree: Path, each: int) -> Iterator[Row]:
    """The first prompts of each strategy's run in a tree."""
    arm = Arm(tree)
    for strategy in STRATEGIES:
        with Recorder(0) as server:
            arm.play(strategy, 0, server.base_url)
        distinct = {json.dumps(messages): messages for messages in server.asked}
        yield from ({"strategy": strategy, "messages": one} for one in list(distinct.values())[:each])
    arm.close()


def replies(network: Network, asked: Sequence[str], samples: int, tokens: int) -> list[list[ChatReply]]:
    """What the model answers to each prompt, all of them at once."""
    tokenizer, model = network
    tokenizer.padding_side = "left"
    batch = tokenizer(list(asked), padding=True, add_special_tokens=False, return_tensors="pt").to(model.device)
    with torch.inference_mode():
        found = model.generate(
            **batch, do_sample=True, temperature=0.7, top_p=0.95, max_new_tokens=tokens, num_return_sequences=samples
        )
    answers = found[:, batch["input_ids"].shape[1] :].cpu()
    told = [_reply(tokenizer, one, tokens) for one in answers]
    return [told[at : at + samples] for at in range(0, len(told), samples)]


def _reply(tokenizer: Any, answer: torch.Tensor, tokens: int) -> ChatReply:  # noqa: ANN401
    cut = len(answer) >= tokens and tokenizer.eos_token_id not in answer.tolist()
    text = tokenizer.decode(answer, skip_special_tokens=True)
    return ChatReply(text=text, finish="length" if cut else "stop", model="")


def parent(messages: Messages) -> str:
    """The kernel that an edit would change: the last that the prompt shows."""
    for message in reversed(messages):
        found = parse(ChatReply(text=message["content"] or "", model=""), "cpp")
        if isinstance(found, Kernel):
            return found.candidate.source
    return ""


def counted(row: Row, length: int, found: Sequence[ChatReply]) -> Row:
    """One prompt's replies: how many held a kernel, another one than the prompt, or were cut."""
    before = parent(row["messages"])
    kernels = [parse(one, "cpp", before) for one in found]
    sources = [one.candidate.source for one in kernels if isinstance(one, Kernel)]
    return {
        "strategy": row["strategy"],
        "prompt_tokens": length,
        "replies": len(found),
        "parsable": len(sources),
        "own": sum(source.strip() != before.strip() for source in sources),
        "cut": sum(one.finish == "length" for one in found),
    }


def answered(rows: Sequence[Row], network: Network, samples: int, tokens: int) -> list[Row]:
    """Prompts answered together; one for which the model's context is too short gets no reply."""
    tokenizer, model = network
    texts = [tokenizer.apply_chat_template(row["messages"], add_generation_prompt=True, tokenize=False) for row in rows]
    lengths = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts]
    short = [at for at, n in enumerate(lengths) if n + tokens <= model.config.max_position_embeddings]
    found = dict(
        zip(short, replies(network, [texts[at] for at in short], samples, tokens) if short else [], strict=True)
    )
    return [counted(row, lengths[at], found.get(at, [])) for at, row in enumerate(rows)]


def share(rows: Sequence[Row], of: str) -> list[float]:
    """Share of replies with its interval at 95 %: bootstrap over prompts, since replies to one prompt are alike."""
    draw = random.Random(0)
    means = sorted(_mean(draw.choices(rows, k=len(rows)), of) for _ in range(RESAMPLES))
    return [round(x, 3) for x in (_mean(rows, of), means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)])]


def _mean(rows: Sequence[Row], of: str) -> float:
    return float(sum(row[of] for row in rows) / max(1, sum(row["replies"] for row in rows)))


def written(file: Path, head: dict[str, JsonValue], arms: dict[str, list[Row]]) -> None:
    """The file, whole after each prompt."""
    told = {name: {of: share(rows, of) for of in ("parsable", "own", "cut")} for name, rows in arms.items() if rows}
    file.write_text(json.dumps({**head, "shares": told, "rows": arms}, indent=1) + "\n")


def main() -> None:
    """Record the prompts, have them answered in turn, print the shares."""
    flags = arguments()
    trees = {"old": flags.old, "new": HERE}
    if not flags.prompts.exists():
        flags.prompts.write_text(json.dumps({name: [*recorded(tree, flags.each)] for name, tree in trees.items()}))
    prompts: dict[str, list[Row]] = json.loads(flags.prompts.read_text())
    arms: dict[str, list[Row]] = (
        json.loads(flags.out.read_text())["rows"] if flags.out.exists() else {n: [] for n in trees}
    )
    network = open_network(str(flags.model))
    network.model.to(flags.device, torch.bfloat16)
    torch.manual_seed(flags.seed)
    head: dict[str, JsonValue] = {
        "what": "shares of replies, with 95 % intervals: a kernel is found; it is not the one shown; the reply is cut",
        "model": flags.model.name, "device": flags.device, "old": flags.version, "samples": flags.samples,
        "tokens": flags.tokens,
    }  # fmt: skip
    begin = time.monotonic()
    for name, at in ((n, at) for at in range(0, max(map(len, prompts.values())), flags.batch) for n in trees):
        if asked := prompts[name][len(arms[name]) : at + flags.batch]:
            arms[name] += answered(asked, network, flags.samples, flags.tokens)
            written(flags.out, head, arms)
            sys.stderr.write(f"{time.monotonic() - begin:5.0f} s  {name} {arms[name][-1]}\n")
    sys.stdout.write(json.dumps(json.loads(flags.out.read_text())["shares"], indent=1) + "\n")


def arguments() -> argparse.Namespace:
    """What was asked for."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--old", type=Path, help="the checkout to compare with; not needed where --prompts exists")
    found.add_argument("--version", default="", help="what the old checkout is, such as its commit")
    found.add_argument("--model", type=Path, required=True)
    found.add_argument("--prompts", type=Path, default=Path("prompts.json"))
    found.add_argument("--each", type=int, default=4, help="prompts of each strategy")
    found.add_argument("--batch", type=int, default=1, help="prompts that are answered together")
    found.add_argument("--samples", type=int, default=8)
    found.add_argument("--tokens", type=int, default=512)
    found.add_argument("--device", default="cpu")
    found.add_argument("--seed", type=int, default=0)
    found.add_argument("--out", type=Path, required=True)
    return found.parse_args()


if __name__ == "__main__":
    main()
