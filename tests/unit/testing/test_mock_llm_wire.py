import asyncio
import http.client
import json
import socket
import subprocess
import sys
import threading
import urllib.error
from pathlib import Path

import openai
import pytest
from chat_requests import LATENCY, TASK, candidate, code, post, prompt, request, say

import mock_llm.__main__
from kernelwright.errors import UsageError
from kernelwright.records.admission import Admission, TaskReport
from mock_llm import MODEL, At, Faults, MockLLMServer

CLEAN = Faults(rate=0)
LATER = (openai.RateLimitError, openai.InternalServerError)


def client(server, retries=0, timeout=5.0):
    return openai.OpenAI(api_key="none", base_url=server.base_url, max_retries=retries, timeout=timeout)


def ask(server, retries=0, timeout=5.0, **fields):
    with client(server, retries, timeout) as found:
        reply = found.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": prompt()}], **fields)
        return list(reply) if fields.get("stream") else reply


def scripted(*faults, **more):
    script = tuple(At(call=n, fault=fault) for n, fault in enumerate(faults))
    return MockLLMServer([TASK], faults=Faults(rate=0, script=script, **more))


def test_the_official_client_reads_a_reply():
    with MockLLMServer([TASK], faults=CLEAN) as server:
        with client(server) as found:
            assert [m.id for m in found.models.list()] == [MODEL]
        reply = ask(server, temperature=0.7, seed=1, max_tokens=4096)
        told = server.served[0]
    assert reply.model == reply.system_fingerprint == MODEL
    assert reply.choices[0].finish_reason == "stop"
    assert 'extern "C" void kernel(' in code(reply.choices[0].message.content)
    assert reply.usage.prompt_tokens == told.prompt_tokens > 0
    assert reply.usage.total_tokens == told.prompt_tokens + told.completion_tokens


def test_the_official_client_reads_tool_calls():
    schema = {"type": "object", "properties": {"code": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "evaluate", "parameters": schema}}]
    with MockLLMServer([TASK], faults=CLEAN) as server:
        choice = ask(server, tools=tools).choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls[0].function.name == "evaluate"
    assert "kernel(" in json.loads(choice.message.tool_calls[0].function.arguments)["code"]


def test_a_reply_is_cut_at_the_tokens_that_were_asked_for():
    with MockLLMServer([TASK], faults=CLEAN) as server:
        reply = ask(server, max_tokens=20)
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage.completion_tokens == 20


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("429", openai.RateLimitError),
        ("429_silent", openai.RateLimitError),
        ("500", openai.InternalServerError),
        ("503", openai.InternalServerError),
        ("400", openai.BadRequestError),
        ("404", openai.NotFoundError),
        ("reset", openai.APIConnectionError),
        ("reset_body", openai.APIConnectionError),
        ("truncated_body", openai.APIConnectionError),
    ],
)
def test_each_fault_of_transport_reaches_the_client_once(fault, error):
    with scripted(fault) as server:
        with pytest.raises(error):
            ask(server)
        assert ask(server).choices[0].message.content
        assert [s.kind for s in server.served] == [fault, "seed"]


def test_a_limited_call_says_when_to_come_again_or_does_not():
    with scripted("429", "429_silent", retry_after_s=2.5) as server:
        for expected in ("2.5", None):
            with pytest.raises(openai.RateLimitError) as found:
                ask(server)
            assert found.value.response.headers.get("retry-after") == expected


def test_bodies_that_are_no_answer():
    with scripted("html", "wrong_type", "no_usage", "null_content") as server:
        assert "Bad Gateway" in raw(server)[1]
        kind, body = raw(server)
        assert kind == "text/plain"
        assert json.loads(body)["model"] == MODEL
        assert "usage" not in json.loads(raw(server)[1])
        assert json.loads(raw(server)[1])["choices"][0]["message"]["content"] is None


def raw(server):
    connection = http.client.HTTPConnection("127.0.0.1", int(server.base_url.split(":")[2].split("/")[0]), timeout=5)
    connection.request("POST", "/v1/chat/completions", json.dumps(request(prompt())))
    answer = connection.getresponse()
    found = answer.headers["Content-Type"], answer.read().decode()
    connection.close()
    return found


def test_the_official_client_reads_a_stream():
    with MockLLMServer([TASK], faults=CLEAN) as server:
        whole = ask(server, seed=1)
        chunks = ask(server, seed=1, stream=True, stream_options={"include_usage": True})
        first, second = server.served
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == whole.choices[0].message.content
    assert chunks[-1].usage == whole.usage
    assert first.request == second.request, "how an answer travels is no part of the question"


@pytest.mark.parametrize("stream", [True, False])
def test_the_official_client_reads_a_response(stream):
    with MockLLMServer([TASK], faults=CLEAN) as server:
        text = ask(server, seed=1).choices[0].message.content
        with client(server) as found:
            reply = found.responses.create(model=MODEL, input=prompt(), extra_body={"seed": 1}, stream=stream)
            reply = list(reply)[-1].response if stream else reply
    assert (reply.status, reply.output_text) == ("completed", text)
    assert reply.usage.input_tokens > 0


@pytest.mark.parametrize("fault", ["cut_stream", "garbage_event", "stalled_stream", "drip"])
def test_faults_of_streams_are_met_by_streams_alone(fault):
    with scripted(fault, fault, stall_s=0.0) as server:
        whole = ask(server, seed=1).choices[0].message.content
        try:
            chunks = ask(server, seed=1, stream=True)
        except (ValueError, openai.APIConnectionError):
            chunks = []
        kinds = [call.kind for call in server.served]
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert (said == whole) == (fault == "drip")
    assert kinds == ["seed", fault]


def test_a_stall_outlasts_the_client_and_not_the_server():
    before = set(threading.enumerate())
    with scripted("stall", stall_s=threading.TIMEOUT_MAX) as server:
        with pytest.raises(openai.APITimeoutError):
            ask(server, timeout=0.2)
        stalling = set(threading.enumerate()) - before
    assert len(stalling) == 2, "the server's own thread, and the one that answers nothing"
    assert not any(thread.is_alive() for thread in stalling)


def test_the_clients_own_retries_get_through():
    with scripted("429", "503") as server:
        assert ask(server, retries=3).model == MODEL
        assert server.counts == {"429": 1, "503": 1, "seed": 1}


def test_a_script_may_count_the_calls_of_one_role():
    script = (At(call=1, fault="500", role="judge-improve"),)
    with MockLLMServer([TASK], faults=Faults(rate=0, script=script)) as server:
        for role in ("coder", "judge-improve", "coder"):
            say(server, prompt(role))
        with pytest.raises(urllib.error.HTTPError):
            say(server, prompt("judge-improve"))
        say(server, prompt("judge-improve"))
        assert [s.kind for s in server.served] == ["seed", "advice", "seed", "500", "advice"]


def test_faults_of_transport_at_a_rate_pass_when_the_request_comes_again():
    faults = Faults(rate=0, transport_rate=0.5, transport_kinds=("429_silent", "500"))
    with MockLLMServer([TASK], seed=9, faults=faults) as server:
        failed = 0
        for n in range(60):
            try:
                ask(server, seed=n)
            except LATER:
                failed += 1
                assert ask(server, seed=n).model == MODEL
        assert 15 <= failed <= 45
        assert server.counts["429_silent"] + server.counts["500"] == failed
        assert len(server.served) == 60 + failed


def test_refused_parameters_and_unknown_models():
    with MockLLMServer([TASK], faults=Faults(rate=0, refused=("temperature", "seed"))) as server:
        with pytest.raises(openai.BadRequestError, match="temperature"):
            ask(server, temperature=0.2)
        with pytest.raises(openai.NotFoundError, match="does not exist"), client(server) as found:
            found.chat.completions.create(model="gpt-0", messages=[{"role": "user", "content": "x"}])
        assert ask(server).model == MODEL
        assert [s.status for s in server.served] == [400, 404, 200]


def test_no_thread_is_left_and_an_open_connection_does_not_hold_the_server():
    before = set(threading.enumerate())
    server = MockLLMServer([TASK], faults=CLEAN).start()
    idle = socket.create_connection(("127.0.0.1", int(server.base_url.split(":")[2].split("/")[0])))
    post(server, request(prompt()))
    server.close()
    assert set(threading.enumerate()) <= before
    assert idle.recv(1) == b""
    idle.close()


def test_hostile_bodies_get_an_answer_and_the_server_lives():
    bodies = [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"messages": []}',
        b'{"messages": [1]}',
        b'{"messages": [{"role": "user", "content": {"a": 1}}], "model": "drill-1"}',
        json.dumps({"model": "drill-1", "messages": [{"role": "user", "content": "\ud800"}]}).encode(),
        json.dumps(request(prompt(compiler_log="error: " * 1_000_000, candidate=candidate("x" * 5_000_000)))).encode(),
        json.dumps(request("## " * 500_000)).encode(),
        json.dumps(request("```\n" * 200_000 + prompt(profile="bottleneck:" * 100_000))).encode(),
        json.dumps(request(prompt(profile="-bound " * 300_000 + LATENCY))).encode(),
    ]
    with MockLLMServer([TASK], faults=CLEAN) as server:
        for body in bodies:
            assert server.reply(body).status in (200, 400)
        assert ask(server).model == MODEL
        with pytest.raises(openai.APIStatusError), client(server) as found:
            found.post("/somewhere", cast_to=object)


def test_many_clients_at_a_time():
    async def many(server):
        async with openai.AsyncOpenAI(api_key="none", base_url=server.base_url) as found:
            turns = [{"role": "user", "content": prompt()}]
            asked = [found.chat.completions.create(model=MODEL, messages=turns, seed=n) for n in range(40)]
            return await asyncio.gather(*asked)

    with MockLLMServer([TASK]) as server:
        replies = asyncio.run(many(server))
        alone = [ask(server, seed=n) for n in range(40)]
        assert sorted(s.number for s in server.served) == list(range(80))
    assert [r.choices for r in replies] == [r.choices for r in alone]


def test_a_best_schedule_must_be_readable():
    with pytest.raises(UsageError, match="best schedule of 'abs'"):
        MockLLMServer([TASK], best={"abs": "chunk=1"})


def test_what_admit_writes_is_taken(tmp_path):
    report = TaskReport(
        key="k", file="abs.py", name="abs", fit=True, reason=None, message="", checks=(), seconds=1.0, task=TASK
    )
    unfit = report.model_copy(update={"fit": False, "reason": "random", "task": None})
    found = Admission(
        created="", target=TASK.target, device="", versions={}, tasks=(report, unfit), skipped=(), all_fit=False
    )
    (tmp_path / "admission.json").write_text(found.model_dump_json(indent=2))
    assert mock_llm.__main__._tasks([tmp_path / "admission.json"]) == [TASK]


def test_it_serves_as_a_program(tmp_path):
    (tmp_path / "tasks.json").write_text(f"[{TASK.model_dump_json()}]")
    command = [sys.executable, "-m", "mock_llm", "--tasks", str(tmp_path / "tasks.json")]
    place = Path(mock_llm.__file__).parents[1]
    with subprocess.Popen(
        [*command, "--faults", '{"rate": 0}'], stdout=subprocess.PIPE, text=True, cwd=place
    ) as program:
        url = program.stdout.readline().strip()
        with openai.OpenAI(api_key="none", base_url=url) as found:
            assert found.models.list().data[0].id == MODEL
        program.terminate()
        assert program.wait(30) == 0
    told = subprocess.run([*command, "--faults", "{"], capture_output=True, text=True, check=False, cwd=place)
    assert told.returncode == 2
    assert "JSON" in told.stderr
