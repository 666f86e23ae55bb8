"""The functions that a request offers, and how the drill uses them.

Decides which function is called before a kernel is handed in, and with which arguments, by the schemas in the request.
Refuses to know kernels.
"""

import json
import random
from collections.abc import Mapping

from pydantic import JsonValue

from kernelwright.testing.drill.answer import Call
from kernelwright.testing.drill.prompt import Prompt

OFTEN = 0.5
"""Share of dialogues that begin with a look at the techniques; of kernels that are compiled before they are judged."""
LOOKING = ("compile", "verify")
"""Functions after which the same kernel is handed in, if it passed."""


class Toolbox:
    """Functions by name, with the JSON Schema of their arguments."""

    def __init__(self, schemas: Mapping[str, Mapping[str, JsonValue]]) -> None:
        self._schemas = schemas

    def __bool__(self) -> bool:
        """Whether any function is offered."""
        return bool(self._schemas)

    def before(self, prompt: Prompt, source: str, draw: random.Random) -> Call | None:
        """What is called before the next kernel is handed in; None: nothing."""
        used = [name for turn in prompt.turns for name, _ in turn.calls]
        if not used:
            return self._search() if "search" in self._schemas and draw.random() < OFTEN else None
        passed = used[-1] in LOOKING and bool(source) and not prompt.refuses()
        return self.handing(source, done=False) if passed else None

    def looking(self, source: str, draw: random.Random) -> Call | None:
        """The call that has a new kernel compiled before it is judged; None: it is judged at once."""
        often = "compile" in self._schemas and draw.random() < OFTEN
        return self._call("compile", ("code", "source"), source) if often else None

    def handing(self, source: str, done: bool) -> Call:
        """The call that has a kernel judged, or hands in the last one."""
        wanted = ("submit", "evaluate") if done else ("evaluate", "verify", "submit")
        name = next((n for n in wanted if n in self._schemas), next(iter(self._schemas)))
        return self._call(name, ("code", "source"), source)

    def _search(self) -> Call:
        return self._call("search", ("query", "text"), "fewer passes over memory, more work in flight")

    def _call(self, name: str, keys: tuple[str, ...], value: str) -> Call:
        known = self._schemas[name].get("properties")
        properties = list(known) if isinstance(known, dict) else []
        key = next((k for k in keys if k in properties), properties[0] if properties else keys[0])
        return Call(name, json.dumps({key: value}))
