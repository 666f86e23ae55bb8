"""Both wires: every message comes back as it was sent, and whatever else arrives ends in the errors that are documented.

`sandbox.messages` between the grader and a child, `evaluate.jobs` between the engine and a worker.
"""

import importlib
import json
import typing
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.errors import RefereeError
from kernelwright.evaluate import jobs
from kernelwright.evaluate.entrypoints import session
from kernelwright.evaluate.sandbox.jail import Jail
from kernelwright.evaluate.sandbox.messages import calls, candidates, entrypoints, tasks, tools
from kernelwright.evaluate.sandbox.messages.base import (
    Answer,
    Done,
    MalformedError,
    Question,
    Raised,
    UnreadableError,
    read_answer,
)
from kernelwright.knowledge.hardware import hardware
from kernelwright.records.admission import Checked, Fitness
from kernelwright.records.candidate import Candidate
from kernelwright.records.evaluation import Binding, Refused
from kernelwright.records.launch import Launch, LaunchPlan
from kernelwright.records.lowering import LoweredKernel, Lowering
from kernelwright.records.measure import Yardstick
from kernelwright.records.policy import Policy
from kernelwright.testing.samples import BUILD, sample_environment, sample_profile, sample_task

TASK = sample_task()
CANDIDATE = Candidate(language="triton", source="é\n\ud7ff", entry="k")
PLAN = LaunchPlan(launches=(Launch(kernel="k", grid=(1, 2, 3), block=(32, 1, 1)),))
WHERE = {"calls": ((0, 64), (4096, 0))}
OF_MODEL = {"candidate": CANDIDATE, "workload": TASK.workload, "init": "x = 1\n"}
SPECS = TASK.workload.outputs
FOUND = calls.Found(address=1 << 40, dtype="complex64", shape=(3, 0))
RESULTS = ((FOUND,), (FOUND, FOUND))
MADE = tools.Made(address=8, nbytes=0)
HOW = calls.Clocking(clock="each", busy_ns=100, watched=True, cold_cache=False)
CLOCKED = calls.Clocked(ns=7, each_ns=(3, 4), queued_ns=1, beside_ns=2)
ACTIVITY = tools.Activity(name="k", us=1.5, count=2, grid=(1, 1, 1), block=None, registers=5)
LOWERING = Lowering(
    text="é", helpers="h", kernels=(LoweredKernel(name="k", grid="Grid1D", settings=({"XBLOCK": 64, "num_warps": 4},)),)
)
LOADED = tasks.TaskLoaded(
    inputs=TASK.workload.inputs, parameters=(), outputs=SPECS, tree={"args": [0], "kwargs": {}},
    changes=("x",), state=(), grown=False, spread=(0.0, 1e-7),
    random=(True, False), broken="", init=None, flags={},
)  # fmt: skip
SAID = [
    (calls.Open(), Done()),
    (calls.TakeParameters(offsets=(0, 64)), Done()),
    (calls.Run(**WHERE, variant="watch fp64"), calls.Ran(ns=5, beside_ns=1, results=RESULTS)),
    (calls.RunInTurn(count=3, variant="eager", idle=True), calls.RanInTurn(results=RESULTS)),
    (calls.RunOnDevice(**WHERE, how=HOW), CLOCKED),
    (calls.CaptureGraph(**WHERE), Done()),
    (calls.HoldCalls(**WHERE, poison=False), Done()),
    (calls.Replay(how="release", idle=True), Done()),
    (calls.Overwrite(), Done()),
    (calls.TimeCopying(**WHERE), calls.CopyingTimed(graph_ns=7, loop_ns=9)),
    (calls.Export(narrow=True), calls.Exported(results=RESULTS)),
    (calls.DescribeInputs(offsets=(0,), tensors=SPECS), calls.Described(tensors=(FOUND,))),
    (tasks.LoadTask(source="x = '\U0001f600'", threads=2), LOADED),
    (
        calls.ReduceTask(workload=TASK.workload, elements=9),
        calls.TaskReduced(workload=TASK.workload, description="", init="[]"),
    ),
    (calls.ExportGraph(), calls.GraphExported(graph=TASK.graph)),
    (tasks.EstimateTask(source=""), tasks.Estimated(nbytes=5 << 30)),
    (tasks.Widen(inputs=(0, 2), parameters=(1,)), tasks.Widened(inputs=(2,), parameters=(1,))),
    (calls.Draw(seed=1 << 62), calls.Described(tensors=(FOUND,))),
    (calls.DrawInto(seed=-1, offsets=(0,)), Done()),
    (calls.DescribeState(), calls.Described(tensors=())),
    (calls.PutState(offsets=()), Done()),
    (calls.MapArena(starts=(0, 4096)), Done()),
    (calls.MapDeviceArena(sizes=(4096,), outbox=512), Done()),
    (calls.Prepare(variant="compile", **WHERE, nodes=("mm",)), calls.Prepared(missing="no compiler")),
    (calls.TellPrecision(), calls.Precision(flags={"cudnn.allow_tf32": True, "float32_matmul_precision": "high"})),
    (calls.Release(collect=True), Done()),
    (
        candidates.LoadLibrary(
            starts=(0,), entry="work", outputs=1, pool_bytes=1 << 30, workspace_bytes=8, threads=2, private=True
        ),
        candidates.LibraryLoaded(pool=4096),
    ),
    (candidates.RunPlaced.of(((0, 64), (64, 0)), ((1 << 46,), (8,))), calls.Ran(ns=5)),
    (candidates.LoadInterpreted(starts=(0,), arch="sm_90", **OF_MODEL), Done()),
    (candidates.Examine(workload=OF_MODEL["workload"], init=OF_MODEL["init"]), candidates.Examined(words="a")),
    (
        candidates.LoadModel(
            sizes=(1,), outbox=2, **OF_MODEL, extension=candidates.ExtensionBuild(headers="/h", gencode="compute_90")
        ),
        candidates.ModelLoaded(
            binding=Binding(by_name=2, by_value=("w = weight",), left=("bias",), constant=("table",))
        ),
    ),
    (candidates.LoadModule(starts=(0,), **OF_MODEL, threads=2, constant=True), candidates.ModelLoaded()),
    (
        candidates.TellParameters(),
        candidates.ParametersHeld(tensors=(candidates.Held(address=1 << 46, dtype="float32", strides=(64, 1)), None)),
    ),
    (candidates.Clear(count=3), Done()),
    (candidates.TellLibraryShare(call=(0, 64)), candidates.LibraryShare(share=0.5)),
    (
        candidates.LoadProgram(
            sizes=(1,), outbox=2, inputs=1, output_bytes=(4,), plans=(PLAN,), unaligned_plans=(PLAN,), private=SPECS
        ),
        candidates.ProgramLoaded(faults=("no kernel",)),
    ),
    (candidates.ChoosePlan(call=(0,), outs=(8,)), candidates.Chosen(index=1, us=(float("inf"), 2.5))),
    (candidates.LaunchPlans(**WHERE, outs=((8,), (16,)), left_out=(1,), how=HOW), CLOCKED),
    (tools.Execute(argv=("true",), texts={"a": "b"}, result="c"), tools.Executed(status=-9, log="\0", made=MADE)),
    (
        tools.CompileCuda(source="", names=("k",), options=("-O3",), include=("/i",), library=None),
        tools.CudaCompiled(
            version="13.0", kernels=tools.Kernels(made=MADE, names=("_Z1kv",), parameters={"_Z1kv": (8, 4)})
        ),
    ),
    (
        tools.BuildExtension(candidate=CANDIDATE, arch="sm_90", headers="/h"),
        tools.ExtensionBuilt(log="", ways=("whole",), seconds=1.5),
    ),
    (tools.BuildCross(**OF_MODEL, arch="sm_90"), tools.CrossBuilt(facts=BUILD)),
    (tools.Capture(**OF_MODEL, device=hardware("sm_90")), tools.Captured(address=8, sizes=(4, 0))),
    (
        tools.PrepareProfile(
            order=tools.ProfileOrder(
                subject=tools.ProgramSubject(workload=TASK.workload, plan=PLAN, modules=1), trace=True
            )
        ),
        Done(),
    ),
    (
        tools.Lower(source="", numerics="as-is", device=hardware("sm_90"), threads=2, options={"max_autotune": True}),
        tools.Lowered(lowering=LOWERING),
    ),
    (tools.Trace(), tools.Traced(calls=3, activities=(ACTIVITY,))),
    (tools.CountUnder(argv=(), log="l"), tools.Counted(status=0, written="w", said="s")),
    (tools.MeasureRates(), tools.Rates(copy_gbps=4000.0, notes=("bf16: lacking",))),
]
"""A sample of every command, with a reply."""

CPP = {"task": TASK.id, "candidate": CANDIDATE}
YARDSTICK = Yardstick(times_us={"eager": 12.5, "compile": 7.25}, floor_us=1.5)
DONE = [
    (jobs.Admit(source=TASK.source, target=TASK.target), TASK),
    (
        jobs.Examine(source=TASK.source, target=TASK.target),
        Fitness(checks=(Checked(name="duration", status="passed", figure="1 us"),)),
    ),
    (jobs.Evaluate(**CPP, effort="final"), Refused(reason="scripted")),
    (jobs.Build(**CPP), Refused(reason="scripted")),
    (jobs.Replay(**CPP, seeds=(1, 1 << 62)), Refused(reason="scripted")),
    (jobs.TakeProfile(**CPP, build=BUILD), sample_profile()),
    (jobs.Lower(source=TASK.source, target=TASK.target, options={"a.b": 1}), LOWERING),
    (jobs.TakeYardstick(task=TASK.id, baselines=("eager", "compile")), YARDSTICK),
    (jobs.DescribeEnvironment(target=TASK.target), sample_environment()),
    (jobs.Identify(target=TASK.target), jobs.Likeness(device="CPU", cores=2, versions={"torch": "2"})),
]
"""A sample of every job, with a result."""


def name_of(message):
    return type(message).__name__


def packed(message):
    return message.model_dump_json().encode()


# --- what is sent is what arrives ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("command", "reply"), SAID, ids=name_of)
def test_a_command_and_its_reply_come_back_as_they_were_sent(command, reply):
    question = Question(serial=5, command=command)
    assert entrypoints.read_question(packed(question), []) == question
    for answer in (Answer(serial=5, reply=reply), Answer(serial=0, raised=Raised(error="E", log="l"))):
        read = read_answer(packed(answer), command)
        assert (read.serial, read.reply, read.raised) == (answer.serial, answer.reply, answer.raised)
    assert type(read_answer(packed(Answer(serial=5, reply=reply)), command).reply) is type(reply)


@pytest.mark.parametrize("body", [None, TASK], ids=["id", "body"])
@pytest.mark.parametrize(("job", "result"), DONE, ids=name_of)
def test_a_job_and_its_result_come_back_as_they_were_sent(job, result, body):
    request = jobs.Request(job=job, policy=Policy(seeds=3), body=body)
    assert jobs.read_request(packed(request)) == request
    read = jobs.read_answer(packed(jobs.Answered(result=result)), job).result
    assert (type(read), read) == (type(result), result)
    for answer in (jobs.Failed(error="TaskError", message="m", reason="random"), jobs.UnknownTask()):
        assert jobs.read_answer(packed(answer), job) == answer


def test_descriptors_are_not_part_of_the_text():
    command = calls.MapArena(starts=(0,), files=(41,))
    data = packed(Question(serial=1, command=command))
    assert b"41" not in data
    assert entrypoints.read_question(data, [7]).command.files == (7,)


def test_there_is_a_sample_of_everything():
    assert {type(command) for command, _ in SAID} == {
        kind for kinds in entrypoints.ENTRYPOINTS.values() for kind in kinds
    }
    assert {type(job) for job, _ in DONE} == set(typing.get_args(jobs.AnyJob))


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own, from modules that Inductor imports
@pytest.mark.parametrize("side", entrypoints.ENTRYPOINTS)
def test_a_child_has_a_handler_of_the_right_type_for_what_it_takes(side, monkeypatch):
    seen = []
    monkeypatch.setattr(session, "serve", lambda control, handlers: seen.append(handlers))
    importlib.import_module(entrypoints.MODULES[side]).serve(None)
    assert set(seen[0]) == set(entrypoints.ENTRYPOINTS[side])
    for kind, handler in seen[0].items():
        hints = typing.get_type_hints(handler.func if isinstance(handler, partial) else handler)
        reply = next(type(reply) for command, reply in SAID if type(command) is kind)
        assert hints["command"] is kind
        assert reply in (hints["return"], *typing.get_args(hints["return"]))


def test_every_side_is_served():
    assert entrypoints.MODULES.keys() == entrypoints.ENTRYPOINTS.keys()


@pytest.mark.parametrize(
    "message",
    [
        entrypoints.Birth(side="cpp", jail=Jail(directory="/", environment={"A": "b"})),
        entrypoints.Confined(denied=("a",)),
    ],
)
def test_a_birth_comes_back_as_it_was_sent(message):
    assert type(message).model_validate_json(packed(message)) == message


# --- what nobody of ours would send -------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)


@st.composite
def mutations(draw, data):
    """A valid message with a few of its values replaced, left out, doubled or added to; or with other bytes in it."""
    if draw(st.booleans()):
        text = bytearray(data)
        for _ in range(draw(st.integers(1, 4))):
            at = draw(st.integers(0, len(text)))
            text[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
        return bytes(text)
    message = json.loads(data)
    for _ in range(draw(st.integers(1, 3))):
        message = changed(draw, message)
    return json.dumps(message).encode()


def changed(draw, value):
    """A value with one change somewhere within."""
    if isinstance(value, dict) and value and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(value)))
        how = draw(st.sampled_from(["within", "within", "without", "added"]))
        if how == "within":
            return {**value, key: changed(draw, value[key])}
        return {k: v for k, v in value.items() if k != key} if how == "without" else {**value, draw(TEXT): draw(JSON)}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        at = draw(st.integers(0, len(value) - 1))
        how = draw(st.sampled_from(["within", "within", "without", "doubled"]))
        middle = {"within": lambda: [changed(draw, value[at])], "without": list, "doubled": lambda: [value[at]] * 2}
        return [*value[:at], *middle[how](), *value[at + 1 :]]
    return draw(JSON)


QUESTIONS = [packed(Question(serial=5, command=command)) for command, _ in SAID]
REQUESTS = [packed(jobs.Request(job=job, policy=Policy(), body=TASK)) for job, _ in DONE]
RAISED = Answer(serial=1, raised=Raised(error="E"))
PAIRS = [(command, reply, packed(a)) for command, reply in SAID for a in (Answer(serial=1, reply=reply), RAISED)]
RESULTS_OF = [(j, packed(a)) for j, r in DONE for a in (jobs.Answered(result=r), jobs.UnknownTask())]
many = settings(max_examples=200, deadline=None)


def assert_read_or_refused(read, data, *errors):
    """What is read is a record that says the same again; what is not is one of these errors, in few words."""
    try:
        message = read(data)
    except errors as error:
        assert len(str(error)) < 800
        return None
    assert read(packed(message)) == message or "NaN" in repr(message) or "nan" in repr(message)
    return message


@many
@given(st.data())
def test_a_question_is_read_or_malformed(data):
    sent = data.draw(st.binary() | st.sampled_from(QUESTIONS).flatmap(mutations))
    assert_read_or_refused(lambda packet: entrypoints.read_question(packet, []), sent, MalformedError)


@many
@given(st.data())
def test_an_answer_is_read_or_malformed(data):
    command, reply, good = data.draw(st.sampled_from(PAIRS))
    sent = data.draw(st.binary() | mutations(good))
    answer = assert_read_or_refused(lambda packet: read_answer(packet, command), sent, MalformedError)
    if answer is not None:
        assert (answer.reply is None) != (answer.raised is None)
        assert answer.reply is None or type(answer.reply) is type(reply)


@many
@given(st.data())
def test_a_request_is_read_or_the_referee_s_trouble(data):
    sent = data.draw(st.binary() | st.sampled_from(REQUESTS).flatmap(mutations))
    assert_read_or_refused(jobs.read_request, sent, RefereeError)


@many
@given(st.data())
def test_a_worker_s_answer_is_read_or_the_referee_s_trouble(data):
    job, good = data.draw(st.sampled_from(RESULTS_OF))
    sent = data.draw(st.binary() | mutations(good))
    assert_read_or_refused(lambda packet: jobs.read_answer(packet, job), sent, RefereeError)


@pytest.mark.parametrize(
    "data", [b"", b"[1]", b"5", b"null", b"{", b"\xff", b"[" * 50_000, b'{"a":' * 50_000, b"9" * 9_999]
)
def test_what_is_no_object_is_told_apart(data):
    with pytest.raises(UnreadableError):
        read_answer(data, calls.Open())


@pytest.mark.parametrize(
    "data",
    [
        b'{"serial": 1, "reply": {"ns": 1, "results": [' + b"[5]," * 200_000 + b"[5]]}}",
        b'{"serial": 1, "reply": {"ns": 1, "results": [[' + b'{"address": "x"},' * 50_000 + b"{}]]}}",
        b'{"serial": 1, "reply": {"ns": 1, ' + b",".join(b'"%d": 1' % n for n in range(80_000)) + b"}}",
    ],
    ids=["lists", "records", "fields"],
)
def test_a_packet_full_of_faults_is_told_in_few_words(data):
    with pytest.raises(MalformedError) as refused:
        read_answer(data, calls.Run(calls=()))
    assert len(str(refused.value)) < 800
