"""The search over the techniques: what people ask for is among the first, and what does not apply is left out."""

import pytest
from technique_questions import Q

from kernelwright.knowledge.library import card_words, technique, techniques
from kernelwright.knowledge.retrieval import Context, search, words

ASKED = {
    "the warp reads strided addresses, loads are not coalesced": "coalesced-access",
    "vectorized float4 loads": "vectorised-loads",
    "shared memory bank conflicts in a transpose": "bank-conflict-padding",
    "cp.async double buffering": "async-copy-double-buffering",
    "low occupancy because of registers": "occupancy-by-less-state",
    "use tensor cores with wmma": "tensor-cores-wmma",
    "tl.dot half precision matmul": "tensor-cores-dot",
    "softmax over very long rows in one pass": "online-softmax",
    "atomicAdd contention": "avoid-atomics",
    "histogram bincount scatter": "privatised-histogram",
    "cumsum prefix sum": "warp-scan",
    "launch overhead of small element-wise kernels": "fused-element-wise-launches",
    "bias and ReLU after a matmul": "fused-epilogue",
    "tune num_warps num_stages": "warps-and-stages",
    "skinny matmul with a large K": "split-k",
    "L2 cache swizzle of program ids": "grouped-block-order",
    "only one block for a mean over the whole tensor": "split-reduction",
    "__restrict__ aliasing": "restrict-pointers",
    "non-temporal stores": "streaming-stores",
    "integer division and modulo for indices": "strength-reduction",
    "expf is not vectorised": "vectorised-exponential",
    "prefetch random access embedding": "software-prefetch",
    "OpenMP threads": "threads-over-rows",
}


@pytest.mark.parametrize("query", ASKED)
def test_what_is_asked_for_is_among_the_first_three(query):
    assert ASKED[query] in [hit.technique.name for hit in search(query, limit=3)]


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_a_target_leaves_out_what_is_not_for_it(target):
    found = search("matmul", Context(kind=target), limit=100)
    assert found
    assert all(target in hit.technique.targets for hit in found)


def test_a_bottleneck_finds_what_eases_it_and_then_what_eases_the_broader_class():
    found = [hit.technique.bottlenecks for hit in search("", bottleneck="uncoalesced", limit=100)]
    named = ["uncoalesced" in eased for eased in found]
    assert named == sorted(named, reverse=True)
    assert any(named)
    assert all("uncoalesced" in eased or "memory" in eased for eased in found)


def test_an_unknown_bottleneck_leaves_nothing_out():
    assert len(search("", bottleneck="unknown", limit=100)) == len(techniques())


def test_words_of_no_card_find_nothing():
    assert search("zebra giraffe") == ()


def test_the_limit_holds_and_the_best_comes_first():
    found = search("shared memory", limit=4)
    assert len(found) == 4
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert search("shared memory", limit=0) == ()


def test_the_same_question_has_the_same_answer():
    assert search("reduction of rows", limit=9) == search("reduction of rows", limit=9)


def test_endings_and_common_words_do_not_matter():
    assert words("the transposed tilings of a loop") == ["transpos", "til", "loop"]


def test_american_spelling_is_british_spelling():
    assert search("vectorize", limit=9) == search("vectorise", limit=9) != ()


@pytest.mark.parametrize("card", techniques(), ids=lambda card: card.name)
def test_a_card_in_words_holds_both_kernels_and_the_whole_advice(card):
    text = card_words(card)
    shown = (card.example.before, card.example.after) if card.example is not None else ()
    for part in (card.title, card.when, card.effect, card.pitfalls, *shown):
        assert part.strip() in text
    assert text.count("```") == (6 if shown else 0)


def test_a_card_says_what_was_measured_and_whether_it_paid():
    paid = technique("loop-interchange")
    assert f"faster, {paid.gains[0].median:.2f} times as fast as before" in card_words(paid)
    never = paid.model_copy(update={"gains": ()})
    assert "its gain was not measured" in card_words(never)
    lost = paid.model_copy(
        update={"gains": (paid.gains[0].model_copy(update={"low": 0.5, "median": 0.6, "high": 0.7}),)}
    )
    assert "slower, 0.60 times as fast as before (0.50 to 0.70)" in card_words(lost)


def first_answer(question):
    bottleneck, family, kind, language, query = question
    return search(query, Context(kind=kind, language=language, family=family, device="NVIDIA H200"), bottleneck, 1)


def test_the_first_answer_is_an_experts_in_four_of_five_questions():
    found = [(q, hits[0].technique.name if (hits := first_answer(q)) else "", wanted.split()) for q, wanted in Q]
    missed = [(question, name, wanted) for question, name, wanted in found if name not in wanted]
    assert len(Q) >= 80
    assert len(missed) <= 0.2 * len(Q), missed


def test_what_was_asked_names_only_techniques_that_there_are():
    assert {name for _, wanted in Q for name in wanted.split()} <= {card.name for card in techniques()}


def test_a_card_of_another_family_or_language_is_never_offered():
    for family, language in (("reduction", "triton"), ("reduction", "cuda"), ("pointwise", "triton")):
        hits = search("", Context(kind="cuda", language=language, family=family), "launch", 50)
        assert hits
        assert all(not h.technique.families or family in h.technique.families for h in hits)
        assert all(language in h.technique.languages for h in hits)
        assert "fused-epilogue" not in [h.technique.name for h in hits]


def test_what_was_tried_is_not_offered_again():
    first = search("", Context(kind="cuda", family="reduction"), "memory", 1)[0].technique.name
    assert first not in [
        h.technique.name for h in search("", Context(kind="cuda", family="reduction", tried=(first,)), "memory", 50)
    ]
