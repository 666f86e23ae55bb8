"""Replies of a small model, whose step for one token takes longer to launch than to compute.

The step is recorded once a batch as a CUDA graph, over a cache of keys and values with room for the longest reply, and then
replayed: no Python runs between two tokens. transformers' own way to that end compiles the step anew for each shape; which is
faster, benchmarks/train_caches.py tells. Without a GPU the same step runs as it is.

Attention of one new token reads the whole cache, and little else takes time: `grouped` reads it once for all heads that share
it, where transformers copies it for each of them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
import transformers
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from kernelwright.train.engine.network import Network

LOOK = 16
"""Tokens between two looks at whether all rows have ended: a look waits for the device."""
SHOWN = 2
"""Steps that run before one is recorded: libraries make what they need in the first."""


GROUPED = "kernelwright_grouped"
"""What `grouped` is called among transformers' attentions."""


def grouped(
    module: Any,  # noqa: ANN401
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **named: Any,  # noqa: ANN401
) -> tuple[torch.Tensor, None]:
    """Attention of one query a row, in transformers' form; of several, what transformers does.

    Args:
        module: The layer.
        query: float[rows, heads, queries, width].
        key: float[rows, groups, places, width]; heads are a multiple of groups.
        value: As `key`.
        attention_mask: bool[rows, 1, queries, places]: what may be looked at. None: everything.
        scaling: Of the scores; by default one over the root of the width.
        named: For transformers.

    Returns:
        float[rows, queries, heads, width], and nothing.
    """
    rows, heads, queries, width = query.shape
    if queries > 1:
        made: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **named
        )
        return made
    groups = key.shape[1]
    asked = (query * (width**-0.5 if scaling is None else scaling)).reshape(rows * groups, heads // groups, width)
    scores = _scores(asked, key.flatten(0, 1)).view(rows, groups, heads // groups, -1)
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask, -torch.inf)
    weights = scores.softmax(-1).to(value.dtype).flatten(0, 1)
    return torch.bmm(weights, value.flatten(0, 1)).view(rows, 1, heads, width), None


def _scores(asked: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """float[groups, queries, places], never of 16 bits: rounded scores would blur what is attended to."""
    if key.is_cuda and key.element_size() == 2:
        with torch.autocast("cuda", enabled=False):
            return torch.bmm(asked.to(key.dtype), key.transpose(1, 2), out_dtype=torch.float32)
    return torch.bmm(asked.to(key.dtype), key.transpose(1, 2))


transformers.AttentionInterface.register(GROUPED, grouped)
transformers.AttentionMaskInterface.register(GROUPED, sdpa_mask)


@contextmanager
def _grouping(model: Any) -> Iterator[None]:  # noqa: ANN401
    """Where transformers would call torch's attention, it calls `grouped`."""
    before = model.config._attn_implementation
    if before != "sdpa":
        yield
        return
    model.set_attn_implementation(GROUPED)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


class _Cache(transformers.StaticCache):  # type: ignore[misc]
    """Keys in the precision of the values: a norm of keys with float32 weights makes them wider than what attention reads."""

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *rest: Any, **named: Any) -> Any:  # noqa: ANN401
        """See `Cache.update`."""
        return super().update(key_states.to(value_states.dtype), value_states, *rest, **named)


class Decoding:
    """One batch of prompts, and what is written to each."""

    def __init__(self, network: Network, prompts: Sequence[Sequence[int]], *, longest: int, temperature: float) -> None:
        """Lay the prompts out, padding before them.

        Args:
            network: A causal model of transformers, and its tokenizer.
            prompts: Token ids.
            longest: Tokens of a reply at most.
            temperature: 0 is greedy.
        """
        pad = network.tokenizer.pad_token_id
        self._model, self._temperature, self._end, self._pad = network.model, temperature, network.end, pad
        rows, width, device = len(prompts), max(map(len, prompts)), network.model.device
        self._ids = torch.tensor([[pad] * (width - len(p)) + list(p) for p in prompts], device=device)
        padded = [[0] * (width - len(p)) + [1] * len(p) + [0] * longest for p in prompts]
        self._mask = torch.tensor(padded, device=device)
        self._cache = _Cache(config=network.model.config, max_cache_len=width + longest)
        self._position = torch.tensor([[len(p)] for p in prompts], device=device)
        self._token = torch.full((rows, 1), pad, device=device)
        self._written = torch.full((rows, longest), pad, device=device)
        self._place = torch.zeros(1, dtype=torch.long, device=device)
        """Of the next token among those that are written."""
        self._ended = torch.zeros(rows, dtype=torch.bool, device=device)

    def replies(self) -> list[list[int]]:
        """Every reply, with the token that ends it unless it was cut off."""
        was = self._model.training
        self._model.eval()
        try:
            with torch.no_grad(), self._precision(), _grouping(self._model):
                self._read()
                count = self._write()
        finally:
            self._model.train(was)
        return [self._cut(row) for row in self._written[:, :count].tolist()]

    def _precision(self) -> Any:  # noqa: ANN401
        """What trainers compute with on a GPU. Casts are not kept: a graph would go on with weights of an earlier step."""
        on = self._ids.is_cuda
        return torch.autocast("cuda", torch.bfloat16, cache_enabled=False) if on else nullcontext()

    def _read(self) -> None:
        """The prompts, and the first token behind each."""
        positions = (self._mask[:, : self._ids.shape[1]].cumsum(1) - 1).clamp(min=0)
        made = self._model(
            input_ids=self._ids, attention_mask=self._mask, position_ids=positions, past_key_values=self._cache,
            use_cache=True, logits_to_keep=1,
        )  # fmt: skip
        self._choose(made.logits)

    def _write(self) -> int:
        """All further tokens; returns how many there are."""
        longest = int(self._written.shape[1])
        again = self._step
        for count in range(1, longest):
            if count == SHOWN and self._ids.is_cuda:
                again = self._recorded()
            if count % LOOK == 0 and bool(self._ended.all()):
                return count
            again()
        return longest

    def _recorded(self) -> Any:  # noqa: ANN401
        """What runs the step again, and no Python."""
        graph = torch.cuda.CUDAGraph()
        # A trainer's other threads pin memory meanwhile, which is none of the graph's business.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._step()
        return graph.replay

    def _step(self) -> None:
        """One more token of each row. All that it changes, it changes in place."""
        self._mask.index_fill_(1, self._place + (self._ids.shape[1] - 1), 1)
        made = self._model(
            input_ids=self._token, attention_mask=self._mask, position_ids=self._position, past_key_values=self._cache,
            use_cache=True,
        )  # fmt: skip
        self._position.add_(1)
        self._choose(made.logits)

    def _choose(self, logits: torch.Tensor) -> None:
        """Draw a token from each row's last logits, float[rows, tokens, vocabulary], and put it in its place."""
        last = logits[:, -1].float()
        if self._temperature:
            # The largest of p / e with e exponential is a draw from p; unlike multinomial it asks the device nothing.
            chances = (last / self._temperature).softmax(-1)
            last = chances / torch.empty_like(chances).exponential_()
        chosen = torch.where(self._ended, self._pad, last.argmax(-1))
        self._ended.logical_or_(chosen == self._end)
        self._token.copy_(chosen[:, None])
        self._written.index_copy_(1, self._place, chosen[:, None])
        self._place.add_(1)

    def _cut(self, row: list[int]) -> list[int]:
        return row[: row.index(self._end) + 1] if self._end in row else row
