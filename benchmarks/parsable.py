"""What share of a small model's replies holds a kernel, under the prompts of two versions.

    PYTHONPATH=tests:tests/system python benchmarks/parsable.py --old TREE --model MODEL --out FILE [--target cuda]

The prompts are the coder's of the mock model's runs (`prompts.py`), so that both versions are asked at the same steps of the
same searches; a real model then answers each, `--samples` times. MODEL is a checkpoint's folder or a GGUF file. A reply
counts as parsable if the reader of this checkout finds a kernel in it, and as its own if that is not the one in the prompt.
`--prompts FILE` keeps the prompts, or takes them from there: another machine need not play the runs.
"""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from campaign import Campaign, Row, command
from prompts import Arm
from provenance import commit_and_date
from test_golden_transcripts import FAULTS, TASK

from kernelwright.propose.llm.parse import Kernel, parse
from kernelwright.records.chat import ChatReply
from kernelwright.train.engine.network import Network, open_network
from mock_llm import MockLLMServer, wire

HERE = Path(__file__).parents[1]
STRATEGIES = ("direct", "fsr", "cudaforge_best", "tritongym_refine", "tritongym_reflective", "frontend_midend")
Messages = list[dict[str, str]]
WHAT = "shares of replies, with 95 % intervals: a kernel is found; it is not the one shown; the reply is cut"
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


def summary(rows: list[Row]) -> Row:
    """The shares of each version."""
    arms = {arm: [row for row in rows if row["arm"] == arm] for arm in ("old", "new")}
    return {
        "shares": {arm: {of: share(own, of) for of in ("parsable", "own", "cut")} for arm, own in arms.items() if own}
    }


async def measure(campaign: Campaign) -> None:
    """Have the prompts of both versions answered in turn."""
    asked = campaign.asked
    if not asked.prompts.exists():
        trees = {"old": asked.old, "new": HERE}
        asked.prompts.write_text(json.dumps({name: [*recorded(tree, asked.each)] for name, tree in trees.items()}))
    prompts: dict[str, list[Row]] = json.loads(asked.prompts.read_text())
    network = open_network(str(asked.model))
    network.model.to(asked.target, torch.bfloat16)
    torch.manual_seed(asked.seed)
    how = {"model": asked.model.name, "device": asked.target, "old": asked.version}
    campaign.begin({"what": WHAT, **how, "samples": asked.samples, "tokens": asked.tokens, **commit_and_date()})
    longest = max(map(len, prompts.values()))
    for arm, at in campaign.left(
        [(arm, at) for at in range(0, longest, asked.batch) for arm in prompts if at < len(prompts[arm])]
    ):
        rows = answered(prompts[arm][at : at + asked.batch], network, asked.samples, asked.tokens)
        for number, row in enumerate(rows, at):
            campaign.put({"arm": arm, "number": number, **row})


def main() -> None:
    """Ask, and print the shares."""
    parser = command(__doc__, seconds=36000.0)
    parser.add_argument("--old", type=Path, help="the checkout to compare with; not needed where --prompts exists")
    parser.add_argument("--version", default="", help="what the old checkout is, such as its commit")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--prompts", type=Path, default=Path("prompts.json"))
    parser.add_argument("--each", type=int, default=4, help="prompts of each strategy")
    parser.add_argument("--batch", type=int, default=1, help="prompts that are answered together")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--seed", type=int, default=0)
    campaign = Campaign(parser.parse_args(), ("arm", "number"), same=("model", "device", "samples", "tokens"))
    campaign.summary = summary
    campaign.run(lambda: measure(campaign))
    campaign.show(lambda rows: json.dumps(summary(rows)["shares"], indent=1))


if __name__ == "__main__":
    main()
