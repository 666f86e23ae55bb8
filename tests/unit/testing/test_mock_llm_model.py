import pytest
from chat_requests import CUDA, GPP, LATENCY, MISMATCH, TASK, burdens, candidate, code, post, prompt, request, say

from mock_llm import MODEL, Faults, MockLLMServer
from mock_llm.answer import PROSE, REFUSAL
from mock_llm.faults import BROKEN

CLEAN = Faults(rate=0)
LAUNCH = "Bottleneck: launch.\n\n```text\n1. Overhead-bound: the data needs 0.4 us, the call takes 310.0.\n```"
MEMORY = "Bottleneck: memory.\n\n```text\n1. Memory-bound: it reaches 90% of the measured bandwidth.\n```"


@pytest.fixture
def server():
    with MockLLMServer([TASK, CUDA], seed=3, faults=CLEAN) as found:
        yield found


def only(*kinds):
    return MockLLMServer([TASK], seed=5, faults=Faults(rate=1, kinds=kinds))


def test_a_first_kernel_has_two_or_three_handicaps(server):
    counts = {burdens(say(server, prompt(), seed=n)) for n in range(20)}
    assert counts == {2, 3}


def test_the_same_request_has_the_same_answer_on_another_server(server):
    with (
        MockLLMServer([TASK, CUDA], seed=3, faults=CLEAN) as other,
        MockLLMServer([TASK], seed=4, faults=CLEAN) as third,
    ):
        asked = [request(prompt(), seed=n) for n in range(8)]
        first = [post(server, r) for r in asked]
        assert [post(other, r) for r in reversed(asked)] == first[::-1]
        assert [post(third, r) for r in asked] != first


def test_only_the_right_bottleneck_lifts_a_handicap(server):
    first = code(say(server, prompt()))
    assert burdens(code(say(server, prompt(candidate=candidate(first), profile=MEMORY)))) == burdens(first)
    assert burdens(code(say(server, prompt(candidate=candidate(first))))) == burdens(first)
    assert burdens(code(say(server, prompt(candidate=candidate(first), profile=LAUNCH)))) == burdens(first) - 1


def test_without_counters_waiting_and_overhead_are_one(server):
    first = code(say(server, prompt()))
    assert burdens(code(say(server, prompt(candidate=candidate(first), profile=LATENCY)))) == burdens(first) - 1


def test_a_list_of_all_bottlenecks_names_none(server):
    first = code(say(server, prompt()))
    menu = "Name one: memory-bound, compute-bound, latency-bound, launch-bound, occupancy-bound."
    assert burdens(code(say(server, prompt(candidate=candidate(first), instruction=menu)))) == burdens(first)


def test_a_loop_that_shows_the_profile_ends_at_the_authors_kernel_and_a_blind_one_does_not(server):
    seeing = blind = code(say(server, prompt()))
    for _ in range(4):
        seeing = code(say(server, prompt(candidate=candidate(seeing), profile=LAUNCH)))
        blind = code(say(server, prompt(candidate=candidate(blind))))
    assert burdens(seeing) == 0
    assert "namespace drill" not in seeing
    assert burdens(blind) >= 2


def test_the_best_schedule_is_the_one_that_was_given():
    with MockLLMServer([TASK], faults=CLEAN, best={"abs": '{"vector_bits": 512, "chunk": 16}'}) as server:
        found = code(say(server, prompt()))
        for _ in range(3):
            found = code(say(server, prompt(candidate=candidate(found), profile=LAUNCH)))
    assert "schedule(static, 16)" in found
    assert "-mprefer-vector-width=512" in found


def test_a_judges_advice_counts_where_the_coder_quotes_it(server):
    first = code(say(server, prompt()))
    advice = say(server, prompt("judge-improve", candidate=candidate(first), profile=LAUNCH))
    assert '"bottleneck": "launch' in advice
    assert burdens(code(say(server, prompt(candidate=candidate(first), advice=advice)))) == burdens(first) - 1
    silent = say(server, prompt("judge-improve", candidate=candidate(first)))
    assert '"bottleneck": "unknown"' in silent
    assert burdens(code(say(server, prompt(candidate=candidate(first), advice=silent)))) == burdens(first)


def test_an_undeclared_name_is_mended_only_if_the_log_names_it():
    with only("undeclared") as server:
        wrong = code(say(server, prompt()))
        token = wrong[wrong.index("drill_missing_") :][:22]
        blind = code(say(server, prompt(candidate=candidate(wrong))))
        other = code(say(server, prompt(candidate=candidate(wrong), compiler_log=GPP.format(line=1, what="'x' ..."))))
        log = GPP.format(line=9, what=f"'{token}' was not declared in this scope")
        mended = code(say(server, prompt(candidate=candidate(wrong), compiler_log=log)))
        kinds = [s.kind for s in server.served]
    assert kinds == ["seed", "unmended", "unmended", "mended"]
    assert blind != mended
    assert other != mended
    assert "drill_missing_" not in mended


def test_missing_punctuation_is_mended_only_if_the_log_names_its_line():
    with only("punctuation") as server:
        wrong = code(say(server, prompt()))
        lines = wrong.split("\n")
        line = next(n for n, text in enumerate(lines, 1) if text.startswith("  ") and text.rstrip()[-1] not in ";{},\\")
        for near, kind in ((line + 40, "unmended"), (line, "mended")):
            log = GPP.format(line=near, what="expected ',' or ';' before 'for'")
            say(server, prompt(candidate=candidate(wrong), compiler_log=log))
            assert server.served[-1].kind == kind


@pytest.mark.parametrize("kind", ["off_by_one", "dropped_term", "wrong_constant"])
def test_wrong_maths_is_mended_only_with_the_mismatch(kind):
    with only(kind) as server:
        wrong = code(say(server, prompt()))
        say(server, prompt(candidate=candidate(wrong)))
        say(server, prompt(candidate=candidate(wrong), mismatch="Something is wrong."))
        mended = code(say(server, prompt(candidate=candidate(wrong), mismatch=MISMATCH)))
        advised = say(server, prompt("judge-repair", candidate=candidate(wrong), mismatch=MISMATCH))
        again = code(say(server, prompt(candidate=candidate(wrong), advice=advised)))
        kinds = [s.kind for s in server.served]
    assert kinds == ["seed", "unmended", "unmended", "mended", "advice", "mended"]
    assert mended == again != wrong


def test_evidence_of_an_earlier_message_counts_if_the_code_was_handed_out_before_it():
    with only("undeclared") as server:
        asked = prompt()
        wrong = say(server, asked)
        token = wrong[wrong.index("drill_missing_") :][:22]
        log = "## Compiler log\n\n" + GPP.format(line=9, what=f"'{token}' was not declared in this scope")
        say(server, asked, wrong, log)
        assert server.served[-1].kind == "mended"
        say(server, asked, wrong, log, "I cannot help.", "Reply again, with code.")
        assert server.served[-1].kind == "mended"
        say(server, asked + log, wrong, "Please mend it.")
        assert server.served[-1].kind == "unmended"


def test_a_fault_that_the_judge_let_pass_is_no_fault():
    with only("wrong_constant") as server:
        wrong = code(say(server, prompt()))
        say(server, prompt(candidate=candidate(wrong), profile=LAUNCH))
        assert server.served[-1].kind == "improved"


def test_each_fault_around_the_kernel():
    seen = {}
    for kind in ("refusal", "prose", "empty", "truncated", "json", "truncated_json", "blocks", "slow"):
        with only(kind) as server:
            seen[kind] = post(server, request(prompt()))["choices"][0]
            assert server.served[0].fault == kind
    text = {kind: choice["message"]["content"] for kind, choice in seen.items()}
    assert text["refusal"] == REFUSAL
    assert text["prose"] == PROSE
    assert text["empty"] == ""
    assert seen["truncated"]["finish_reason"] == seen["truncated_json"]["finish_reason"] == "length"
    assert text["json"].startswith('{"thought"')
    assert text["json"].endswith("}")
    assert not text["truncated_json"].endswith("}")
    assert text["blocks"].count("```cpp") == 2
    assert burdens(text["slow"]) == 3


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("task", [TASK, CUDA], ids=["cpp", "triton"])
def test_each_fault_within_the_kernel_changes_it(kind, task):
    with (
        MockLLMServer([task], seed=1, faults=CLEAN) as clean,
        MockLLMServer([task], 1, Faults(rate=1, kinds=(kind,))) as bad,
    ):
        right, wrong = (code(say(s, prompt(task=task), seed=7)) for s in (clean, bad))
        assert bad.served[0].fault
    assert wrong != right


def test_the_rate_is_kept_over_many_draws():
    with MockLLMServer([TASK], seed=11, faults=Faults()) as server:
        for n in range(300):
            post(server, request(prompt(), seed=n))
        faulty = sum(bool(s.fault) for s in server.served)
        kinds = {s.fault for s in server.served}
    assert 85 <= faulty <= 155
    assert len(kinds) > 10


def test_a_prompt_about_an_unknown_task_gets_no_kernel(server):
    assert "which task" in say(server, "## Task\n\nWrite a matrix product.")
    assert server.served[-1].kind == "lost"


def test_code_of_another_hand_is_a_seed(server):
    say(server, prompt(candidate=candidate('extern "C" void kernel() {}'), profile=LAUNCH))
    assert server.served[-1].kind == "seed"


def test_everything_is_labelled_a_drill(server):
    body = post(server, request(prompt()))
    assert body["model"] == body["system_fingerprint"] == MODEL
    assert MODEL.startswith("drill")
    assert code(body["choices"][0]["message"]["content"]).startswith("// A drill:")


def test_advisers_quote_the_evidence_and_invent_none(server):
    log = "In file included\n" + GPP.format(line=4, what="'abc' was not declared")
    assert "'abc' was not declared" in say(server, prompt("judge-repair", compiler_log=log))
    assert "Nothing was shown" in say(server, prompt("judge-repair"))
    assert "expected 1.5, got 1.6" in say(server, prompt("reflector", mismatch=MISMATCH))
    assert "launch" in say(server, prompt("reflector", profile=LAUNCH))


def test_triton_is_written_for_a_device(server):
    wanted = "One fenced block tagged `python`.\n\n```python\n```"
    text = say(server, prompt(task=CUDA).replace("One fenced block tagged `cpp` with one complete C++17 file.", wanted))
    assert "@triton.jit" in text
