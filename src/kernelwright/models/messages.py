"""Dialogues for endpoints and templates that do not take every kind of message.

A system message, a tool's call and its result become plain messages.
"""

from collections.abc import Iterable

from kernelwright.records.chat import Message


def folded(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Without system messages: their text opens the next user message. Neighbours of one role become one."""
    plain: list[Message] = []
    for message in messages:
        one = Message(role="user", text=message.text) if message.role == "system" else message
        if plain and one.role == "user" == plain[-1].role:
            plain[-1] = Message(role="user", text=f"{plain[-1].text}\n\n{one.text}")
        else:
            plain.append(one)
    return tuple(plain)


def flattened(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Without tools: calls and results become text of the assistant and the user."""
    return tuple(_flat(message) for message in messages)


def _flat(message: Message) -> Message:
    if message.role == "tool":
        return Message(role="user", text=f"Result of {message.call}:\n{message.text}")
    if not message.calls:
        return message
    calls = (f"Call {call.id}: {call.name}({call.arguments})" for call in message.calls)
    return Message(role="assistant", text="\n".join(filter(None, (message.text, *calls))))
