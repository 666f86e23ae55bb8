"""The environment plays a task with the product's prompts, pays by the named reward, and pays no hack."""

import asyncio

import pytest

from kernelwright.engine.cached_evaluator import KnownVerdicts
from kernelwright.errors import RefereeError, TaskError, UsageError
from kernelwright.records.attempt import Proposal
from kernelwright.records.evaluation import Suspect
from kernelwright.records.task import Target
from kernelwright.store.cache import EvaluationCache
from kernelwright.testing.samples import sample_attempt, sample_evaluation, sample_task
from kernelwright.testing.scripted import ScriptedEvaluator
from kernelwright.train.environment import Assignment, Environment, Settings, faked
from kernelwright.train.judges import TRAINING, Judges

TASK = sample_task()
REPLY = '```cpp\nextern "C" void kernel(const float* x, float* out) {}\n```'


class Says:
    """Answers with one evaluation after another."""

    def __init__(self, *evaluations):
        self.left = list(evaluations)

    async def judge(self, task, candidate, effort="search"):
        return self.left.pop(0)


def play(environment, *replies, assignment=None):
    episode = environment.begin(assignment or Assignment(task=TASK))

    async def steps():
        return [await episode.step(reply) for reply in replies]

    return episode, asyncio.run(steps())


def test_a_right_kernel_is_paid_and_the_episode_ends_with_its_turns():
    environment = Environment(
        [Assignment(task=TASK)], Says(sample_evaluation("measured", 2.0)), Settings(reward="kevin")
    )
    episode, (step,) = play(environment, REPLY)
    assert (step.reward, step.truncated, step.prompt) == (pytest.approx(2.3), True, ())
    assert (step.info["right"], step.info["speedup"], step.info["hack"]) == (True, 2.0, "")
    assert episode.best.evaluation.outcome == "measured"


def test_the_next_prompt_repairs_or_improves_what_came_of_the_last():
    says = Says(sample_evaluation("build_failed"), sample_evaluation("measured"), sample_evaluation("measured"))
    _, steps = play(Environment([], says, Settings(turns=3)), REPLY, REPLY, REPLY)
    assert "expected ';' before" in steps[0].prompt[1].text
    assert "Success. Latency" in steps[1].prompt[1].text
    assert [step.truncated for step in steps] == [False, False, True]


def test_a_reply_without_a_kernel_is_refused_unjudged():
    _, (step,) = play(Environment([], Says(), Settings()), "I would rather not.")
    assert (step.info["outcome"], step.info["parsed"], step.reward) == ("refused", False, 0.0)


def test_nothing_is_known_where_the_referee_broke():
    _, (step,) = play(Environment([], Says(None), Settings()), REPLY)
    assert step.reward is None
    assert step.info == {"outcome": "unjudged"}


def test_a_hack_is_told_and_earns_nothing_unless_filters_are_off():
    found = sample_evaluation("measured", 2.0)
    task = sample_task(Target(kind="cuda", arch="sm_90", present=True))
    assert faked(task, found)
    assert not faked(TASK, found)
    assert faked(TASK, Suspect(because="below_floor", evidence="")) == "below_floor"
    reply = "```python\nimport torch\nimport triton\nclass ModelNew(torch.nn.Module):\n    pass\n```"
    paid = []
    for filters in (True, False):
        says = Says(found)
        environment = Environment([], says, Settings(reward="kevin", filters=filters))
        _, (step,) = play(environment, reply, assignment=Assignment(task=task))
        assert step.info["hack"]
        assert not step.info["right"]
        paid.append(step.reward)
    assert paid == [0.0, pytest.approx(2.3)]


def test_the_mid_end_begins_with_a_measured_kernel():
    environment = Environment([], Says(), Settings(role="midend", reward="midend"))
    prompt = environment.opening(Assignment(task=TASK, parent=sample_attempt(0)))
    assert "tune what is there" in prompt[1].text


def test_an_edit_that_changes_nothing_is_refused_unjudged():
    """It would be the surest way not to lose."""
    source = REPLY.removeprefix("```cpp\n").removesuffix("\n```")
    kernel = sample_attempt(0).proposal.candidate.model_copy(update={"source": source})
    parent = sample_attempt(0).model_copy(update={"proposal": Proposal(candidate=kernel)})
    assignment = Assignment(task=TASK, parent=parent)
    environment = Environment([], Says(), Settings(role="midend", reward="midend"))
    _, (step,) = play(environment, REPLY, assignment=assignment)
    assert (step.info["outcome"], step.reward) == ("refused", 0.0)
    assert "nothing in it is" in step.info["attempt"].evaluation.reason
    paid = Environment([], Says(sample_evaluation("measured", 2.0)), Settings(role="midend", reward="midend"))
    _, (step,) = play(paid, REPLY.replace("{}", "{ out[0] = x[0]; }"), assignment=assignment)
    assert step.reward == pytest.approx(1.0)


def test_tasks_are_found_by_split_and_index():
    held = Assignment(task=TASK, split="heldout")
    environment = Environment([Assignment(task=TASK), held], Says())
    assert environment.splits() == ("train", "heldout")
    assert environment.find("heldout", 0) == held
    with pytest.raises(UsageError, match="has 1 tasks, and none at 1"):
        environment.find("train", 1)


def judge_some(judges, *candidates):
    async def asked():
        try:
            return await asyncio.gather(*(judges.judge(TASK, one) for one in candidates))
        finally:
            await judges.close()

    return asyncio.run(asked())


def test_the_same_kernel_is_judged_once():
    evaluator = ScriptedEvaluator(delay_s=0.01)
    judges = Judges(lambda _: evaluator)
    candidate = sample_attempt(0).proposal.candidate
    first, second = judge_some(judges, candidate, candidate)
    assert first == second
    assert len(evaluator.calls) == 1
    assert (judges.rate.asked, judges.rate.judged, judges.rate.unjudged) == (2, 1, 0)
    assert evaluator.closed


def test_what_another_run_timed_is_taken_over_and_nothing_else_is(tmp_path):
    evaluators, kernel = (
        [ScriptedEvaluator(outcomes=("measured",)) for _ in range(2)],
        sample_attempt(0).proposal.candidate,
    )

    def asked(number, *efforts):
        known = KnownVerdicts(lambda: EvaluationCache(tmp_path / "known.sqlite"), TRAINING, lambda text: None)
        judges = Judges(lambda _: evaluators[number], known=known)

        async def verdicts():
            try:
                return [await judges.judge(TASK, kernel, effort) for effort in efforts]
            finally:
                await judges.close()

        return asyncio.run(verdicts()), judges.rate

    first, made = asked(0, "search")
    again, taken = asked(1, "search", "verify")
    assert (made.judged, taken.asked, taken.judged, len(evaluators[1].calls)) == (1, 2, 1, 1)
    assert again[0].cached_from == "training"
    assert again[0].model_copy(update={"cached_from": first[0].cached_from}) == first[0]
    assert again[1].cached_from != "training"


def test_a_cache_that_cannot_be_used_is_told_once(tmp_path):
    (tmp_path / "file").write_text("")
    heard, kernel = [], sample_attempt(0).proposal.candidate
    known = KnownVerdicts(lambda: EvaluationCache(tmp_path / "file" / "known.sqlite"), TRAINING, heard.append)
    judge_some(Judges(lambda _: ScriptedEvaluator(outcomes=("measured",)), known=known), kernel)
    assert len(heard) == 1
    assert "could not be opened" in heard[0]


def test_verdicts_under_way_are_given_up_when_judges_close():
    opened = []

    def made(number):
        opened.append(ScriptedEvaluator(delay_s=60.0))
        return opened[-1]

    async def closed_early():
        judges = Judges(made)
        asked = asyncio.ensure_future(judges.judge(TASK, sample_attempt(0).proposal.candidate))
        await asyncio.sleep(0.01)
        await judges.close()
        with pytest.raises(asyncio.CancelledError):
            await asked
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(closed_early()) == set()
    assert [one.closed for one in opened] == [True]


@pytest.mark.parametrize("of_task", [1, 2, 5])
def test_the_kernels_of_one_task_are_dealt_out_to_its_workers(of_task):
    evaluators = [ScriptedEvaluator(delay_s=0.01) for _ in range(3)]
    judges = Judges(evaluators.__getitem__, workers=3, of_task=of_task)
    judge_some(judges, *(sample_attempt(n).proposal.candidate for n in range(6)))
    asked = [len(one.calls) for one in evaluators]
    assert asked == {1: [6, 0, 0], 2: [3, 3, 0], 5: [2, 2, 2]}[of_task]


def test_tasks_with_several_workers_each_take_turns_over_all_of_them():
    evaluators = [ScriptedEvaluator(delay_s=0.01) for _ in range(6)]
    judges = Judges(evaluators.__getitem__, workers=6, of_task=2)
    task, kernels = sample_task(), [sample_attempt(n).proposal.candidate for n in range(2)]

    async def verdicts():
        tasks = [
            task.model_copy(update={"source": task.source.model_copy(update={"source": f"{n}"})}) for n in range(3)
        ]
        await asyncio.gather(*(judges.judge(one, kernel) for one in tasks for kernel in kernels))
        await judges.close()

    asyncio.run(verdicts())
    assert [len(one.calls) for one in evaluators] == [1] * 6


def test_a_referee_that_breaks_is_replaced_once_and_then_nothing_is_known():
    opened = []

    class Broken(ScriptedEvaluator):
        async def evaluate(self, task, candidate, effort="search"):
            raise RefereeError("broken")

    def made(number):
        opened.append(Broken())
        return opened[-1]

    judges = Judges(made)
    assert judge_some(judges, sample_attempt(0).proposal.candidate) == [None]
    assert len(opened) == 2
    assert all(one.closed for one in opened)
    assert judges.rate.unjudged == 1


def test_a_task_that_is_not_admitted_again_says_nothing_about_its_kernels():
    class Refusing(ScriptedEvaluator):
        async def evaluate(self, task, candidate, effort="search"):
            raise TaskError("the device has no memory", "too_large")

    evaluator = Refusing()
    judges = Judges(lambda _: evaluator)
    assert judge_some(judges, sample_attempt(0).proposal.candidate) == [None]
    assert (judges.rate.unjudged, dict(judges.rate.refused)) == (1, {"too_large": 1})
