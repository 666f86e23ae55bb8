"""The toolbox answers every call of a model, whatever the model wrote."""

import asyncio
import json

import pytest

from kernelwright.engine.gateway.toolbox import ANSWERED, Toolbox
from kernelwright.errors import RefereeError
from kernelwright.records.chat import ToolCall
from kernelwright.records.evaluation import BuildFailed, Crashed, Refused, StageSeconds
from kernelwright.records.task import Target
from kernelwright.records.tools import ANSWERS, RESULTS, FoundCard
from kernelwright.testing.samples import sample_evaluation, sample_task
from kernelwright.testing.scripted import ScriptedEvaluator

KERNEL = '// quality 3\nextern "C" void kernel(const float* x, float* y);\n'
GPU = Target(kind="cuda", arch="sm_90", present=False)


class Replays(ScriptedEvaluator):
    """Finds what it was told to find, and remembers how it was asked."""

    def __init__(self, found):
        super().__init__()
        self.found, self.asked = found, []

    async def replay(self, task, candidate, seeds):
        self.asked.append((candidate, tuple(seeds)))
        return self.found

    async def build(self, task, candidate):
        self.asked.append((candidate, ()))
        return self.found


def use(name, arguments, evaluator=None, target=None, **parts):
    toolbox = Toolbox(sample_task(target), evaluator or ScriptedEvaluator(), **parts)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    answer = asyncio.run(toolbox.answer(ToolCall(id="1", name=name, arguments=text)))
    return json.loads(answer.text), answer.device_s


@pytest.mark.parametrize("name", ANSWERED)
def test_an_answer_is_what_its_schema_says(name):
    arguments = {"query": "x"} if name == "search" else {"code": KERNEL}
    found, _ = use(name, arguments)
    assert RESULTS[name].model_validate(found)
    assert found.keys() <= ANSWERS[name]["properties"].keys()


@pytest.mark.parametrize(
    ("found", "ok"),
    [
        (sample_evaluation("verified"), True),
        (sample_evaluation("compiled"), True),
        (sample_evaluation("incorrect"), True),
        (sample_evaluation("crashed"), True),
        (BuildFailed(log="kernel.cpp:3:1: error"), False),
        (Refused(reason="no function `kernel`"), False),
        (Crashed(stage="compile", reason="killed by SIGKILL"), False),
    ],
)
def test_compile_says_whether_it_builds_and_nothing_else(found, ok):
    answer, _ = use("compile", {"code": KERNEL}, Replays(found))
    assert (answer["ok"], bool(answer["log"])) == (ok, not ok)


@pytest.mark.parametrize(
    ("outcome", "ok", "said"),
    [
        ("verified", True, "right in all 1 cases"),
        ("incorrect", False, "expected 1.5, got -1.5"),
        ("build_failed", False, "expected ';'"),
        ("crashed", False, "SIGSEGV"),
        ("compiled", False, "neither run"),
    ],
)
def test_verify_says_right_or_wrong_with_the_evidence(outcome, ok, said):
    answer, _ = use("verify", {"code": KERNEL}, Replays(sample_evaluation(outcome)))
    assert (answer["ok"], answer["outcome"]) == (ok, outcome)
    assert said in answer["words"]


def test_the_referee_draws_the_seeds_and_they_are_not_told():
    found = sample_evaluation("verified").model_copy(update={"seeds": (123456789,)})
    evaluator = Replays(found)
    answer, _ = use("verify", {"code": KERNEL}, evaluator)
    assert evaluator.asked[0][1] == ()
    assert "123456789" not in json.dumps(answer)


def test_the_same_kernel_is_replayed_once_and_paid_once():
    evaluator = Replays(sample_evaluation("verified"))
    toolbox = Toolbox(sample_task(), evaluator)
    call = ToolCall(id="1", name="verify", arguments=json.dumps({"code": KERNEL}))

    async def both():
        return [await toolbox.answer(call), await toolbox.answer(call.model_copy(update={"name": "compile"}))]

    first, second = asyncio.run(both())
    assert len(evaluator.asked) == 1
    assert (first.device_s, second.device_s) == (0.75, 0.0)


def test_profile_is_diagnosed():
    answer, _ = use("profile", {"code": KERNEL})
    assert answer["tier"] == "counters"
    assert answer["bottleneck"] == answer["findings"][0]["bottleneck"] != "unknown"
    assert answer["kernels"][0]["metrics"]["dram_share"] == 0.85


def test_search_asks_the_library_and_keeps_to_the_limit():
    cards = [FoundCard(name=f"card-{i}", title="t", text="x") for i in range(5)]
    answer, _ = use("search", {"query": "tiles", "limit": 2}, library=lambda asked, target: cards)
    assert [card["name"] for card in answer["cards"]] == ["card-0", "card-1"]


def test_search_looks_in_the_knowledge_base_for_the_target():
    answer, _ = use("search", {"query": "load sixteen bytes at a time", "limit": 3}, target=GPU)
    assert answer["cards"][0]["name"] == "vectorised-loads"
    of_a_sum, _ = use("search", {"query": "reduce by warp shuffles", "limit": 10}, target=GPU)
    assert "warp-shuffle-reduction" not in [card["name"] for card in of_a_sum["cards"]]  # the task is element-wise
    on_cpu, _ = use("search", {"query": "shared memory tiling of a warp"})
    assert not any("__shared__" in card["text"] for card in on_cpu["cards"])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("verify", ""),
        ("verify", "not json"),
        ("verify", "[]"),
        ("verify", "null"),
        ("verify", "[" * 100_000),
        ("verify", '{"code": "a", "code'),
        ("verify", '{"code": "\\ud800"}'),
        ("verify", {}),
        ("verify", {"code": 7}),
        ("verify", {"code": ""}),
        ("verify", {"code": " \n"}),
        ("verify", {"code": "a\0b"}),
        ("verify", {"code": KERNEL, "path": "/etc/passwd"}),
        ("verify", {"code": KERNEL, "language": "fortran"}),
        ("verify", {"code": "x" * 200_001}),
        ("verify", "x" * 2_000_000),
        ("verify", {"code": "int main() {}"}),
        ("search", {"query": "x", "limit": -1}),
        ("search", {"query": "x", "limit": 1e9}),
        ("search", {"query": "x" * 501}),
        ("evaluate", {"code": KERNEL}),
        ("submit", {"code": KERNEL}),
        ("shell", {"command": "ls"}),
        ("__class__", {}),
        ("", {}),
    ],
)
def test_whatever_is_wrong_with_a_call_is_an_answer(name, arguments):
    answer, spent = use(name, arguments, Replays(RuntimeError("must not be asked")))
    assert list(answer) == ["error"]
    assert len(answer["error"]) < 1000
    assert spent == 0.0


def test_a_broken_referee_is_no_answer():
    class Broken(ScriptedEvaluator):
        async def replay(self, task, candidate, seeds):
            raise RefereeError("broke")

    with pytest.raises(RefereeError):
        use("verify", {"code": KERNEL}, Broken())


def test_a_language_that_is_named_or_fixed_by_the_run_is_kept_to():
    triton = "import triton\nclass ModelNew: pass\n"
    evaluator = Replays(sample_evaluation("verified"))
    use("verify", {"code": triton}, evaluator, GPU)
    use("verify", {"code": triton, "language": "python"}, evaluator, GPU)
    use("verify", {"code": triton}, evaluator, GPU, language="python")
    assert [candidate.language for candidate, _ in evaluator.asked] == ["triton", "python", "python"]


class Slow(ScriptedEvaluator):
    """Takes until it is let go; the first call costs 5 s, the second 7 s; remembers how often it was asked."""

    def __init__(self):
        super().__init__()
        self.asked, self.may = 0, asyncio.Event()

    async def replay(self, task, candidate, seeds):
        self.asked += 1
        cost = (5.0, 7.0)[self.asked - 1]
        await self.may.wait()
        return sample_evaluation("verified").model_copy(
            update={"seconds": (StageSeconds(stage="verify", seconds=cost),)}
        )


def side_by_side(evaluator, *codes):
    """The answers of `verify` to each of the codes, all called at once."""
    toolbox = Toolbox(sample_task(), evaluator)
    calls = [ToolCall(id=str(i), name="verify", arguments=json.dumps({"code": c})) for i, c in enumerate(codes)]

    async def all_of_them():
        running = [asyncio.create_task(toolbox.answer(call)) for call in calls]
        for _ in range(10):
            await asyncio.sleep(0)
        evaluator.may.set()
        return await asyncio.gather(*running, return_exceptions=True)

    return asyncio.run(all_of_them())


def test_calls_side_by_side_pay_each_for_itself():
    found = side_by_side(Slow(), KERNEL, KERNEL.replace("quality 3", "quality 4"))
    assert [answer.device_s for answer in found] == [5.0, 7.0]


def test_the_same_kernel_side_by_side_is_judged_once():
    evaluator = Slow()
    found = side_by_side(evaluator, KERNEL, KERNEL)
    assert evaluator.asked == 1
    assert [answer.device_s for answer in found] == [5.0, 0.0]
    assert found[0].text == found[1].text


def test_what_broke_is_asked_again():
    class BreaksOnce(Slow):
        async def replay(self, task, candidate, seeds):
            found = await super().replay(task, candidate, seeds)
            if self.asked == 1:
                raise RefereeError("broke")
            return found

    evaluator = BreaksOnce()
    toolbox = Toolbox(sample_task(), evaluator)
    call = ToolCall(id="1", name="verify", arguments=json.dumps({"code": KERNEL}))

    async def twice():
        evaluator.may.set()
        with pytest.raises(RefereeError):
            await toolbox.answer(call)
        return await toolbox.answer(call)

    assert asyncio.run(twice()).device_s == 7.0
