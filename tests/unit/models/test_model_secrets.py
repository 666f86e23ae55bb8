"""The key reaches the endpoint, and nothing else."""

import logging
import pickle
import traceback

import pytest
from chat_endpoint import Said, completion, replies

from kernelwright.errors import ModelError, UsageError
from kernelwright.models.claude import open_model as open_claude
from kernelwright.models.config import ModelConfig, read_model
from kernelwright.models.endpoint import Secret, find_secret
from kernelwright.models.openai_compatible import open_model
from kernelwright.records.chat import ChatMessage, ChatRequest

KEY = "sk-very/secret+0123456789abcdef"
ASKED = ChatRequest(messages=(ChatMessage(role="user", text="hi"),))


def echo(status, shape):
    """An endpoint that says back what it was sent."""

    def answer(heard):
        sent = {name.lower(): value for name, value in heard.headers.items()}
        told = sent.get("authorization", "") + sent.get("x-api-key", "")
        headers = {"location": f"http://elsewhere/{told}", "x-request-id": told} if 300 <= status < 400 else {}
        return shape(told, status, headers)

    return answer


SHAPES = [
    lambda told, status, headers: Said({"error": {"message": told, "code": told, "param": told}}, status, headers),
    lambda told, status, headers: Said(raw=told.encode(), status=status, headers=headers, kind="text/plain"),
    lambda told, status, headers: Said({"detail": [{"loc": ["body", told], "msg": told}]}, status, headers),
]


def chain(error):
    """An exception, what it came of, and all that hangs on it."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return seen


def everything(error):
    text = "".join(traceback.format_exception(error))
    for one in chain(error):
        text += f"{one!s}{one!r}{one.args!r}{vars(one)!r}"
        for frame, _ in traceback.walk_tb(one.__traceback__):
            text += repr(frame.f_locals) if "kernelwright" in frame.f_code.co_filename else ""
    return text


def run(model):
    return replies(model, ASKED)[0]


@pytest.fixture(params=["openai", "anthropic"])
def keyed(request, server, waits, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    config = ModelConfig(provider=request.param, name="m", base_url=server.url, retries=1)
    return (open_model if request.param == "openai" else open_claude)(config, waits.retries)


@pytest.mark.parametrize("status", [200, 301, 400, 401, 403, 404, 422, 429, 500])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_error_holds_the_key(server, keyed, status, shape, caplog):
    caplog.set_level(logging.DEBUG)
    server.script.say(echo(status, shape))
    with pytest.raises(ModelError) as caught:
        run(keyed)
    assert any(KEY in value for value in server.script.heard[0].headers.values())
    assert KEY not in everything(caught.value)
    assert len(chain(caught.value)) == 1
    assert KEY not in caplog.text
    assert KEY not in repr(keyed) + repr(vars(keyed))


def test_no_reply_holds_the_key(server, waits, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    call = {"id": KEY, "function": {"name": KEY, "arguments": KEY}}
    server.script.say(completion(f"your key is {KEY}", model=KEY, message={"tool_calls": [call]}))
    reply = run(open_model(ModelConfig(name="m", base_url=server.url), waits.retries))
    assert KEY not in reply.model_dump_json()
    assert reply.text == "your key is [key]"


def test_a_key_cannot_be_shown_or_sent_away():
    secret = Secret(KEY, "MINE")
    assert repr(secret) == str(secret) == "Secret(MINE)"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert secret.reveal() == KEY


def test_a_key_is_found_in_other_spellings():
    secret = Secret(KEY, "MINE")
    for slash, plus in (("/", "+"), ("%2F", "%2B"), ("%2f", "%2b"), ("\\/", "+"), ("\\u002F", "\\u002b")):
        told = f"https://x/?key=sk-very{slash}secret{plus}0123456789abcdef"
        assert secret.redact(told) == "https://x/?key=[key]"
    assert Secret("none", "MINE").redact("none of it") == "none of it"


@pytest.mark.parametrize("key", ["sk-ab\ncd-0123456789", "sk-abc…", "sk abc def"])
def test_what_cannot_be_a_key_is_refused_without_being_told(monkeypatch, key):
    monkeypatch.setenv("MINE", key)
    with pytest.raises(UsageError, match="MINE has letters") as caught:
        find_secret("MINE", "m", local=False)
    assert key not in str(caught.value)


def test_a_key_in_the_address_is_refused_without_being_told():
    for address in (f"https://me:{'p' * 20}@relay.example/v1", f"https://relay.example/v1?key={'p' * 20}"):
        with pytest.raises(UsageError, match="environment variable") as caught:
            open_model(ModelConfig(name="m", base_url=address))
        assert "pppp" not in str(caught.value)
        with pytest.raises(UsageError) as caught:
            read_model(f"openai:m@{address}")
        assert "pppp" not in str(caught.value)
