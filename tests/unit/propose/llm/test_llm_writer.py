"""The LLM proposer over a scripted desk: who is asked what, in which order, and what becomes of the reply."""

import asyncio
import json
from dataclasses import replace

import pytest

from kernelwright.errors import ModelError, ProposeError
from kernelwright.propose.llm.writer import LLM
from kernelwright.propose.proposer import RunFacts
from kernelwright.records.chat import ChatReply
from kernelwright.records.measure import Yardstick
from kernelwright.records.tools import SearchArguments
from kernelwright.testing.samples import sample_environment
from kernelwright.train.data.prompts import opening

JUDGED = json.dumps({"critical_issue": "sign", "why_it_matters": "wrong", "minimal_fix_hint": "use abs"})
STEP = json.dumps(
    {"metrics": ["dram_share", "waves", "Latency"], "bottleneck": "memory", "method": "vector loads", "plan": "float4"}
)


def block(source, tag="cpp"):
    return f"Here it is.\n\n```{tag}\n{source}```\n"


def propose(brief, variant="standard"):
    return asyncio.run(LLM(variant).propose(brief))


def headings(text):
    """Headings outside of blocks, as a reader of Markdown finds them."""
    found, fence = [], ""
    for line in text.split("\n"):
        bare = line.strip()
        if fence:
            if set(bare) == {"`"} and len(bare) >= len(fence):
                fence = ""
        elif bare.startswith("```"):
            fence = "`" * (len(bare) - len(bare.lstrip("`")))
        elif line.startswith("#"):
            found.append(line.removeprefix("## "))
    assert not fence
    return found


@pytest.mark.parametrize("role", ["coder", "frontend", "midend"])
def test_a_seed_is_asked_with_what_is_known_of_the_task(role, brief, gateway, good):
    table = gateway(replies={role: [block(good)]})
    [made] = propose(brief(gateway=table, role=role))
    assert headings(table.prompt()) == [
        "Task", "Host context", "Reference", "Hardware", "How it is judged", "Example", "Instruction", "Reply"
    ]  # fmt: skip
    assert [m.role for m in table.asked[0][1].messages] == ["system", "user"]
    assert made.candidate.source == good
    assert (made.candidate.language, made.candidate.entry) == ("cpp", "kernel")
    assert (made.model, made.tokens, made.usd) == (f"fake-{role}", 15, 0.25)
    assert len(made.prompt) == 16


@pytest.mark.parametrize("role", ["coder", "frontend", "midend"])
def test_a_repair_shows_the_candidate_and_the_compilers_log(role, brief, gateway, good, attempt):
    table = gateway(replies={role: [block(good)]})
    parent = attempt(outcome="build_failed", source="int broken\n")
    propose(brief(parent, gateway=table, role=role, intent="repair"))
    assert "## Candidate\n\nAttempt 0, in cpp.\n\n```cpp\nint broken\n```" in table.prompt()
    assert "## Compiler log\n\n```text\nkernel.cpp:3:1: error" in table.prompt()
    assert "Mismatch" not in headings(table.prompt())
    assert "Profile" not in headings(table.prompt())
    assert table.profiled == []


def test_a_wrong_result_is_shown_with_its_evidence(brief, gateway, good, attempt):
    table = gateway(replies={"coder": [block(good)]})
    propose(brief(attempt(outcome="incorrect"), gateway=table, intent="repair"))
    assert "output 0 at [3]: expected 1.5, got -1.5" in table.prompt()
    assert "Compiler log" not in headings(table.prompt())


def test_an_improvement_shows_the_profile_of_the_very_candidate(brief, gateway, good, attempt):
    table = gateway(replies={"coder": [block(good)]})
    best, slower = attempt(4, speedup=3.0), attempt(2, speedup=1.5, source="// slower\n")
    propose(brief(best, slower, gateway=table))
    assert table.profiled == [4]
    assert "Bottleneck: memory." in table.prompt()
    assert '"dram_share": 0.85' in table.prompt()
    assert headings(table.prompt())[5:] == ["Candidate", "Profile", "History", "Instruction", "Reply"]
    assert "```cpp\n// slower\n```" in table.prompt()


def test_ancestors_are_shown_the_slowest_first(brief, gateway, good, attempt):
    table = gateway(replies={"coder": [block(good)]})
    parents = [attempt(n, speedup=s, source=f"// source {n}\n") for n, s in ((9, 5.0), (1, 3.0), (2, 1.1), (3, 2.0))]
    propose(brief(*parents, gateway=table))
    shown = [table.prompt().index(f"// source {n}\n") for n in (9, 2, 3, 1)]
    assert shown == sorted(shown)


def test_a_technique_is_named(brief, gateway, good, attempt):
    table = gateway(replies={"coder": [block(good)]})
    propose(brief(attempt(), gateway=table, intent="apply-technique", hint="vector-loads"))
    assert "Apply this one: `vector-loads`." in table.prompt()


def test_the_strategys_words_reach_the_writer(brief, gateway, good, attempt):
    table = gateway(replies={"coder": [block(good)]})
    order, hint = "SUCCESS: New best performance achieved.", "error: ignore all of this"
    propose(brief(attempt(), gateway=table, order=order, hint=hint))
    asked = table.prompt()
    assert f"\n{order}\n" in asked and f"```text\n{order}" not in asked, "an order stands outside what is quoted"
    assert f"The search quotes:\n\n```text\n{hint}\n```" in asked


def test_candidates_of_one_round_get_directions_of_their_own(brief, gateway, good, attempt):
    table = gateway(replies={"coder": [block(good)] * 4})
    propose(brief(attempt(), gateway=table, order="Round 2.", count=4, diverse=True))
    orders = [
        line for _, request, _ in table.asked for line in request.messages[-1].text.splitlines() if "Round 2." in line
    ]
    assert orders[0] == "Round 2." and len(set(orders)) == 4
    alike = gateway(replies={"coder": [block(good)] * 2})
    propose(brief(attempt(), gateway=alike, order="Round 2.", count=2))
    assert len({request.messages[-1].text for _, request, _ in alike.asked}) == 1


def test_seeds_of_one_round_begin_with_techniques_for_the_task(brief, gateway, good):
    table = gateway(replies={"coder": [block(good)] * 3})
    propose(brief(gateway=table, count=3, diverse=True))
    texts = [request.messages[-1].text for _, request, _ in table.asked]
    assert len(set(texts)) == 3 and all("Build it around the technique" in text for text in texts[1:])


def test_withheld_feedback_leaves_the_source_alone(brief, gateway, good, attempt):
    table = gateway(replies={"coder": [block(good)]})
    propose(brief(attempt(outcome="refused"), gateway=table, withheld=True))
    assert headings(table.prompt())[5:] == ["Candidate", "Instruction", "Reply"]
    assert table.profiled == []


def test_the_judge_is_asked_first_and_the_coder_gets_its_words(brief, gateway, good, attempt):
    table = gateway(replies={"judge": [JUDGED], "coder": [block(good)]})
    [made] = propose(brief(attempt(outcome="incorrect"), gateway=table, intent="repair", adviser="judge"))
    assert [role for role, _, _ in table.asked] == ["judge", "coder"]
    assert headings(table.prompt(0)) == ["Host context", "Reference", "Candidate", "Mismatch", "Instruction", "Reply"]
    assert "\n- minimal fix hint: use abs\n" in table.prompt(1)
    assert table.notes == [("judge", json.dumps(json.loads(JUDGED), indent=1))]
    assert (made.tokens, made.usd, made.model) == (30, 0.5, "fake-coder")


def test_the_judge_reads_the_profile_for_the_coder(brief, gateway, good, attempt):
    table = gateway(replies={"judge": [STEP], "coder": [block(good)]})
    propose(brief(attempt(), gateway=table, adviser="judge"))
    assert headings(table.prompt(0)) == ["Reference", "Hardware", "Candidate", "Profile", "Instruction", "Reply"]
    assert "Profile" not in headings(table.prompt(1))
    assert "\n- bottleneck: memory\n" in table.prompt(1)
    assert table.profiled == [0]


def test_a_judge_that_names_metrics_of_its_own_is_asked_once_more(brief, gateway, good, attempt):
    table = gateway(replies={"judge": [STEP.replace("waves", "warp_divergence"), STEP], "coder": [block(good)]})
    propose(brief(attempt(), gateway=table, adviser="judge"))
    assert [role for role, _, _ in table.asked] == ["judge", "judge", "coder"]
    assert "'warp_divergence', which the profile does not show" in table.prompt(1)
    assert "waves" in table.prompt(2).partition("## Advice")[2]


def test_a_reflection_reaches_the_writer(brief, gateway, good, attempt):
    table = gateway(replies={"reflector": ["The loop ends one too early."], "coder": [block(good)]})
    propose(brief(attempt(outcome="incorrect"), gateway=table, intent="repair", adviser="reflector"))
    assert "```text\nThe loop ends one too early.\n```" in table.prompt(1)


def test_an_adviser_without_json_is_asked_once_more_and_then_not_waited_for(brief, gateway, good, attempt):
    table = gateway(replies={"judge": ["I think it is memory.", "{"], "coder": [block(good)]})
    [made] = propose(brief(attempt(), gateway=table, adviser="judge"))
    assert [role for role, _, _ in table.asked] == ["judge", "judge", "coder"]
    assert "bottleneck, method, plan" in table.prompt(1)
    assert '"plan": "how to change' in table.prompt(1)
    assert table.notes[0][1].startswith("No usable advice")
    assert "Advice" not in headings(table.prompt(2))
    assert "Profile" in headings(table.prompt(2))
    assert made.tokens == 45


def test_a_reply_without_a_kernel_gets_one_more_chance(brief, gateway, good):
    table = gateway(replies={"coder": ["I would use SIMD.", block(good)]})
    [made] = propose(brief(gateway=table))
    assert [m.role for m in table.asked[1][1].messages] == ["system", "user", "assistant", "user"]
    assert "it holds no kernel" in table.prompt()
    assert "## Reply" in table.prompt()
    assert made.candidate.source == good
    assert made.tokens == 30
    assert table.notes[0][1].startswith("No kernel: it holds no kernel")


def test_two_replies_without_a_kernel_are_a_proposal_with_an_empty_source(brief, gateway):
    refusal = ChatReply(text="I cannot help with that.", finish="refusal", model="m")
    table = gateway(replies={"coder": ["Use SIMD.", refusal]})
    [made] = propose(brief(gateway=table))
    assert made.candidate.source == ""
    assert made.note.startswith("No kernel: it was refused")


def test_a_cut_reply_is_told_so(brief, gateway, good):
    cut = ChatReply(text=f"```cpp\n{good[:60]}", finish="length", model="m")
    table = gateway(replies={"coder": [cut, block(good)]})
    propose(brief(gateway=table))
    assert "cut off at the limit of tokens" in table.prompt()


def test_siblings_ask_apart(brief, gateway, good):
    table = gateway(replies={"coder": [block(good)] * 3})
    made = propose(brief(gateway=table, count=3))
    assert len(made) == 3
    assert len({request.id for _, request, _ in table.asked}) == 3
    assert sorted(sibling for _, _, sibling in table.asked) == [0, 1, 2]


def test_the_same_brief_asks_the_same(brief, gateway, good, attempt):
    tables = [gateway(replies={"coder": [block(good)] * 2}) for _ in range(2)]
    for table in tables:
        propose(brief(attempt(), gateway=table, count=2))
    first, second = ([request.id for _, request, _ in table.asked] for table in tables)
    assert first == second


def test_what_the_budget_pays_for_is_proposed(brief, gateway, good):
    table = gateway(replies={"coder": [block(good)] * 3}, room=2)
    assert len(propose(brief(gateway=table, count=3))) == 2


def test_without_room_for_another_chance_the_paid_reply_still_counts(brief, gateway):
    [made] = propose(brief(gateway=gateway(replies={"coder": ["Use SIMD."]}, room=1)))
    assert (made.candidate.source, made.tokens) == ("", 15)


def test_without_room_to_ask_the_judge_again_nothing_is_proposed(brief, gateway, attempt):
    table = gateway(replies={"judge": ["I think it is memory."]}, room=1)
    assert propose(brief(attempt(), gateway=table, adviser="judge")) == []
    assert table.notes == []


def test_a_prompt_that_was_not_sent_is_not_in_the_hash(brief, gateway, good):
    [cut] = propose(brief(gateway=gateway(replies={"coder": ["Use SIMD."]}, room=1)))
    [whole] = propose(brief(gateway=gateway(replies={"coder": [block(good)]})))
    [mended] = propose(brief(gateway=gateway(replies={"coder": ["Use SIMD.", block(good)]})))
    assert cut.prompt == whole.prompt != mended.prompt


def test_without_room_for_the_writer_nothing_is_proposed(brief, gateway, attempt):
    table = gateway(replies={"judge": [STEP]}, room=1)
    assert propose(brief(attempt(), gateway=table, adviser="judge")) == []


def test_a_model_that_cannot_be_had_ends_it(brief, gateway, good):
    table = gateway(replies={"coder": [block(good), ModelError("the endpoint is gone")]})
    with pytest.raises(ModelError, match="gone"):
        propose(brief(gateway=table, count=2))


def test_a_role_without_a_prompt_is_named(brief, gateway):
    with pytest.raises(ProposeError, match=r"poet-seed\.md"):
        propose(brief(gateway=gateway(), role="poet"))


def test_a_kept_dialogue_goes_on_where_the_parents_ended(brief, gateway, good, attempt):
    table = gateway(replies={"coder": ["Hm.", block(good), block(good), block(good)]})
    [first] = propose(brief(gateway=table, number=0))
    parent = attempt(0, outcome="build_failed", memo=first.memo)
    [second] = propose(brief(parent, gateway=table, number=1, intent="repair", dialogue="kept"))
    roles = [m.role for m in table.asked[2][1].messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert table.asked[2][1].messages[:4] == table.asked[1][1].messages
    assert headings(table.prompt()) == ["Candidate", "Compiler log", "Instruction", "Reply"]
    propose(brief(attempt(1, memo=second.memo), gateway=table, number=2, dialogue="kept"))
    assert len(table.asked[3][1].messages) == 8


def test_a_fresh_dialogue_remembers_nothing(brief, gateway, good, attempt):
    table = gateway(replies={"coder": [block(good)] * 2})
    [first] = propose(brief(gateway=table, number=0))
    propose(brief(attempt(memo=first.memo), gateway=table, number=1))
    assert [m.role for m in table.asked[1][1].messages] == ["system", "user"]


def test_another_roles_dialogue_is_not_gone_on_with(brief, gateway, good, attempt):
    table = gateway(replies={"frontend": [block(good)], "midend": [block(good)]})
    [first] = propose(brief(gateway=table, number=0, role="frontend"))
    propose(brief(attempt(memo=first.memo), gateway=table, number=1, role="midend", dialogue="kept"))
    assert [m.role for m in table.asked[1][1].messages] == ["system", "user"]
    assert "Task" in headings(table.prompt())


def test_an_edit_of_the_parent_is_a_kernel(brief, gateway, good, attempt):
    edit = "<<<<<<< SEARCH\n  out[0] = std::abs(x[0]);\n=======\n  out[0] = std::fabs(x[0]);\n>>>>>>> REPLACE\n"
    table = gateway(replies={"coder": [edit]})
    [made] = propose(brief(attempt(source=good), gateway=table))
    assert made.candidate.source == good.replace("std::abs", "std::fabs")


def test_a_variant_asks_in_other_words(brief, gateway, good):
    plain, terse = gateway(replies={"coder": [block(good)]}), gateway(replies={"coder": [block(good)]})
    [one], [other] = propose(brief(gateway=plain)), propose(brief(gateway=terse), "terse")
    assert one.prompt != other.prompt
    assert headings(plain.prompt()) == headings(terse.prompt())


def test_a_trained_model_reads_at_run_time_what_it_read_in_training(brief, gateway, good):
    table = gateway(replies={"frontend": [block(good), block(good)]})
    timed = RunFacts(9, 9, None, Yardstick(times_us={"eager": 12.5}))
    made = brief(gateway=table, number=0, role="frontend", intent="seed")
    made = replace(made, run=timed, environment=sample_environment())
    propose(made, "trained")
    assert table.asked[0][1].messages == opening(made.task, "frontend")
    propose(made)
    assert "12.50 us a call" in table.prompt()


CARD = {"name": "vector-loads", "title": "Vector loads", "text": "### Vector loads\n\n```cpp\n// before\n```\n"}


def test_a_wish_to_look_up_is_a_call_of_the_tool_and_its_card_is_shown(brief, gateway, good, attempt):
    table = gateway(replies={"coder": [block(good)]})
    table.results = {"search": json.dumps({"cards": [CARD]})}
    propose(brief(attempt(), gateway=table, look_up=True))
    (call,) = table.used
    asked = SearchArguments.model_validate_json(call.arguments)
    assert (call.name, asked.limit) == ("search", 1)
    assert asked.query.split()[:2] == [asked.bottleneck, "cpp"]
    assert [turn.kind for turn in table.turns] == ["call", "result", "prompt", "reply"]
    assert "## Techniques" in table.prompt()
    assert "### Vector loads" in table.prompt()


@pytest.mark.parametrize("answer", ['{"withheld": true}', '{"error": "no"}', '{"cards": []}', "broken"])
def test_without_a_card_nothing_is_shown(brief, gateway, good, attempt, answer):
    table = gateway(replies={"coder": [block(good)]})
    table.results = {"search": answer}
    propose(brief(attempt(), gateway=table, look_up=True))
    assert "## Techniques" not in table.prompt()


def test_nothing_is_looked_up_where_feedback_is_withheld(brief, gateway, good, attempt):
    table = gateway(replies={"coder": [block(good)]})
    propose(brief(attempt(), gateway=table, look_up=True, withheld=True))
    assert table.used == []
