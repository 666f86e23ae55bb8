"""Randomness that comes again: stretches of events in one result that stand somewhere in another one too.

A kernel that draws nothing, but takes a window of numbers that it keeps, looks random in each call; what gives it away is that
two windows of one pool overlap, at whatever distance. Every stretch of WIDTH events of one result becomes a number (its bits),
and some stretches of every later result are looked for among them. What is found must go on for BEYOND events, so that it is
no chance, however rare an event is. Eager's results are looked at in the same way: where the task itself repeats events
(channels that are dropped as a whole), finding them says nothing.
"""

import torch

WIDTH = 64
BEYOND = 512
"""Events that must be the same where a stretch was found."""
PROBES = 64
"""Stretches of a result that are looked for."""
LEAST = 4
"""Events of the rarer kind in a stretch that says something."""
ENOUGH = 3
"""Stretches that come again before it is believed."""


class Echoes:
    """The results of one side, a call after the other."""

    def __init__(self) -> None:
        self._events: torch.Tensor | None = None
        self._codes = self._places = torch.empty(0, dtype=torch.int64)
        self.found = 0

    def add(self, events: torch.Tensor) -> None:
        """Look for stretches of these events, a flat tensor of bools, in the first result that was added."""
        if len(events) < 2 * BEYOND:
            return
        if self._events is None:
            self._events = events
            self._codes, self._places = codes(events).sort()
            return
        starts = torch.randint(len(events) - BEYOND, (PROBES,))
        windows = events[starts[:, None] + torch.arange(WIDTH)]
        rarer = torch.minimum(windows.sum(1), (~windows).sum(1))
        told = rarer >= LEAST
        looked_for = (windows[told].to(torch.int64) << torch.arange(WIDTH)).sum(1)
        at = torch.searchsorted(self._codes, looked_for).clamp(max=len(self._codes) - 1)
        same = self._codes[at] == looked_for
        pairs = zip(starts[told][same].tolist(), self._places[at[same]].tolist(), strict=True)
        self.found += sum(self._goes_on(events, start, place) for start, place in pairs)

    def _goes_on(self, events: torch.Tensor, start: int, place: int) -> bool:
        assert self._events is not None
        there = self._events[place : place + BEYOND]
        return len(there) == BEYOND and bool(torch.equal(there, events[start : start + BEYOND]))


def codes(events: torch.Tensor) -> torch.Tensor:
    """The bits of the stretch of WIDTH events that begins at each place, as a number."""
    found, width = events.to(torch.int64), 1
    while width < WIDTH:
        found = found[: len(found) - width] | found[width:] << width
        width *= 2
    return found
