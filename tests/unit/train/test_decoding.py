"""Attention of one new token: what transformers computes, with the cache read once."""

import pytest

pytest.importorskip("trl")

import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from kernelwright.train.engine.decoding import GROUPED, grouped


class Layer:
    """What transformers asks an attention layer for: two heads share keys and values."""

    num_key_value_groups = 2
    is_causal = True


def drawn(queries, places=50):
    torch.manual_seed(0)
    query = torch.randn(3, 8, queries, 64)
    key, value = torch.randn(3, 4, places, 64), torch.randn(3, 4, places, 64)
    seen = torch.rand(3, 1, queries, places) > 0.3
    seen[..., 0] = True
    return query, key, value, seen


@pytest.mark.parametrize("queries", [1, 5])
@pytest.mark.parametrize("masked", [True, False])
def test_it_is_the_attention_of_transformers(queries, masked):
    query, key, value, seen = drawn(queries)
    mask = seen if masked else None
    given = (Layer, query, key, value, mask)
    found, wanted = grouped(*given, scaling=0.2)[0], sdpa_attention_forward(*given, scaling=0.2)[0]
    torch.testing.assert_close(found, wanted)


def test_transformers_knows_it_by_name():
    from transformers import AttentionInterface  # noqa: PLC0415

    assert AttentionInterface()[GROUPED] is grouped
