"""A run over HTTP as a text that a person can hold against a strategy's pseudocode, step by step.

It says who was asked, with which sections and how much of a conversation, what came back, what the referee said, and
whether it is a new best. Another wording of a prompt changes nothing in it.
"""

import json
import re

from endpoint_runs import Found

from kernelwright.records.attempt import Attempt, ProposalRequest, sure_speedup
from kernelwright.records.chat import ChatMessage, ChatReply, ChatRequest, ToolCall
from kernelwright.records.run import Message
from mock_llm.prompt import Message as Read
from mock_llm.prompt import Prompt, blocks

DRAWN = re.compile(r"(?<=drill_missing_)[0-9a-f]+|(?<=kernel\.cpp:)\d+:\d+")
"""A name that the drill draws for each kernel, and the line of the author's text that it comes to stand in."""
HANDICAP = re.compile(r"^  drill::", re.MULTILINE)
FEEDBACK = re.compile(r"^(?:Compilation Failed|Functional Failure|Success|kernel\.cpp:\d+:)[^\n]{0,70}", re.MULTILINE)
"""How an attempt's feedback begins; a compiler's log stands in a prompt by itself."""
PROSE = "prose, no kernel"


def transcript(found: Found) -> str:
    """The whole run."""
    proposal_requests = {a.proposal_request.number: a.proposal_request for a in found.attempts}
    lines: list[str] = []
    best: Attempt | None = None
    for number in sorted({*proposal_requests, *(t.proposal_request for t in found.turns)}):
        made = [a for a in found.attempts if a.proposal_request.number == number]
        lines += _asked(number, proposal_requests.get(number))
        for sibling in sorted({t.sibling for t in found.turns if t.proposal_request == number}):
            turns = sorted((t for t in found.turns if (t.proposal_request, t.sibling) == (number, sibling)), key=_step)
            lines += [f"  candidate {sibling}"] if len(made) > 1 else []
            lines += [f"    {line}" for line in _dialogue(turns)]
        for attempt in made:
            better = sure_speedup(attempt) > (sure_speedup(best) if best else 0.0)
            best = attempt if better else best
            lines.append(f"  attempt {attempt.number}: {_fate(attempt)}{' -> new best' if better else ''}")
    assert found.outcome is not None
    lines.append(f"end: best is attempt {found.outcome.best}. {found.outcome.stopped}")
    return DRAWN.sub("*", "\n".join(lines)) + "\n"


def _step(turn: Message) -> int:
    return turn.step


def _asked(number: int, proposal_request: ProposalRequest | None) -> list[str]:
    if proposal_request is None:
        return [f"expansion {number}: closed without a kernel"]
    told = [f"expansion {number}: {proposal_request.intent}", f"role {proposal_request.role}"]
    told += [f"adviser {proposal_request.adviser}"] if proposal_request.adviser else []
    told += [f"parents {' '.join(map(str, proposal_request.parents))}"] if proposal_request.parents else []
    told += [f"{proposal_request.count} candidates"] if proposal_request.count > 1 else []
    told += ["dialogue kept"] if proposal_request.dialogue == "kept" else []
    return [", ".join(told), *([f"  hint: {proposal_request.words}"] if proposal_request.words else [])]


def _dialogue(turns: list[Message]) -> list[str]:
    lines: list[str] = []
    for turn in turns:
        match turn.kind:
            case "prompt":
                request = ChatRequest.model_validate_json(turn.text)
                lines.append(f"{turn.role} <- {_prompt(request)}")
                lines += [f"  told: {told}" for told in FEEDBACK.findall(request.messages[-1].text)[:1]]
            case "reply":
                lines.append(f"{turn.role} -> {_reply(ChatReply.model_validate_json(turn.text))}")
            case "diagnosis":
                lines.append(f"noted of {turn.role}: {_keys(turn.text)}")
            case "profile":
                lines.append("profile of the first parent" if turn.text else "no profile")
            case "result":
                lines[-1] += f" -> {_keys(turn.text)}"
            case _:
                lines.append(
                    f"{turn.kind} {ToolCall.model_validate_json(turn.text).name if turn.text else ''}".rstrip()
                )
    return lines


def _prompt(request: ChatRequest) -> str:
    earlier = [m for m in request.messages[:-1] if m.role != "system"]
    before = f"{len(earlier)} earlier messages; " if earlier else ""
    return before + _message(request.messages[-1])


def _message(message: ChatMessage) -> str:
    if message.role == "tool":
        return _verdict(message.text)
    titles = [s.title for s in Prompt([Read(message.role, message.text)]).sections if s.title]
    return ", ".join(titles) or _first(message.text)


def _verdict(text: str) -> str:
    """What a tool answered: of an attempt its number and outcome too."""
    found = json.loads(text)
    told = [f"attempt {found['attempt']}: {FEEDBACK.findall(found['words'])[0]}"] if "attempt" in found else []
    return ", ".join([*told, _keys(text)])


def _reply(reply: ChatReply) -> str:
    if reply.calls:
        return "calls " + ", ".join(call.name for call in reply.calls)
    if reply.text.startswith("{"):
        return _keys(reply.text)
    found = blocks(reply.text)
    return "a kernel" if found else _first(reply.text) if _is_advice(reply.text) else PROSE


def _is_advice(text: str) -> bool:
    return text.startswith(("What was found", "The bottleneck"))


def _keys(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return _first(text)
    return f"JSON {' '.join(found)}" if isinstance(found, dict) else type(found).__name__


def _first(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "nothing")[:120]


def _fate(attempt: Attempt) -> str:
    source = attempt.proposal.candidate.source
    if not source:
        return f"no kernel, {attempt.evaluation.outcome}"
    again = f", the kernel of attempt {attempt.known}" if attempt.known is not None else ""
    left = len(HANDICAP.findall(source))
    return f"{attempt.evaluation.outcome}, {left or 'no'} handicap{'s' * (left != 1)}{again}"
