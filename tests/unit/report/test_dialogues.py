"""Dialogues in the report: what was billed without an answer is said."""

from kernelwright.records.chat import ChatReply, Usage
from kernelwright.records.run import Message
from kernelwright.report.dialogues import dialogues


def test_what_was_billed_without_an_answer_is_said():
    lost = ChatReply(text="", finish="other", model="m", usage=Usage(prompt=70, completion=30), usd=0.5)
    message = Message(number=0, proposal_request=0, role="coder", kind="lost", text=lost.model_dump_json())
    (said,) = dialogues([message])[0].said
    assert "No answer came" in said.text
    assert "70 + 30 tokens, $0.5000" in said.aside
