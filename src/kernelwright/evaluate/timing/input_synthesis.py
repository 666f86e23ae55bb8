"""Fresh inputs for every timed call: contents that nobody has seen, at a place that nobody could foretell.

Each tensor is mixed of two parents from secret draws, for each call of each round, in a place that holds nothing else: a
result kept for a row, a window or an element of an earlier input is of no use, and neither is what was worked out of
parameters alone. Every choice comes from the kernel's generator. The parents lie in the referee's own memory, and no
candidate ever meets one.

Each element comes from one of two parents, with operations that keep the tensor's domain. A parent is a window of what
was drawn; it begins anywhere and wraps around, so that there are two parents even where memory holds only one draw. It
takes a few megabytes of random bits, whatever the tensor's size is. Windows of these bits begin anywhere too, and their
number is no multiple of a row, so that no two rows get the same ones. Inputs whose draws have more in common than their domain
(`structure`) are mixed in their places, or drawn by the task itself from a secret seed.

Timed inputs are of the task's own kind, at every scale that is checked, by lot. In a *challenge* some elements are replaced as
well, or all are what a case from their meaning makes of them: a candidate that does not read them, recognises inputs by a
fingerprint or updates its last result by the difference of two inputs is wrong then. A challenge comes in the midst of timed
calls by the same way, and its time does not count. Nothing marks it: replaced elements are of natural size or large, and lie
at the ends only sometimes.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from kernelwright.evaluate import float8
from kernelwright.evaluate.far_above import far_above
from kernelwright.evaluate.timing.structure import NONE, Structure, challenge
from kernelwright.records.tensor import Domain, TensorSpec

KINDS = 4
"""One challenge of so many is a case from what inputs mean, and one of so many others has elements of natural size alone."""
MANY = 4096
"""Elements among which some are not zero."""
POKES = 16
"""Elements replaced in each input of a challenge."""
Draw = Callable[[tuple[int, ...]], None]
View = Callable[[int, int], torch.Tensor]
Places = list[tuple[int, ...]]
Taken = Callable[[Places], None]
Change = Callable[[int, torch.Tensor], None]
"""Changes a tensor, by its number, in its place."""

COINS = 16 * 262139
"""Tossed once: a prime number of steps."""
MOST_FACTOR = 1.5
"""By which an element is multiplied at most; by a third of it at least."""
STEP = 16
"""Elements by which windows move, where there are many: wide loads need no less."""


@dataclass(frozen=True)
class Stock:
    """One tensor's contents, and where fresh ones go."""

    spec: TensorSpec
    drawn: torch.Tensor
    """Everything to breed from: of shape (draws, *shape), in one piece."""
    home: int
    """Byte offset of what it is where nothing is bred."""
    places: tuple[int, ...]
    """Byte offsets of spare places, one for each call that a sample may hold."""
    parameter: bool = False
    structure: Structure = NONE
    tied: int | None = None
    """The stock, by its number, with which it shares its contents."""

    @property
    def constant(self) -> bool:
        """Whether it stays as it is: a parameter that no factor changes within its domain, or what no draw changes."""
        spec = self.spec
        fixed = self.parameter and (not spec.floating or spec.domain in (Domain.LABEL, Domain.MASK))
        return fixed or self.structure.how == "kept"


class FreshInputs:
    """Inputs and parameters for one benchmark.

    `view` gives a tensor, by its number, at a byte offset; `draw` has the task draw its inputs at these offsets.
    """

    def __init__(self, stocks: Sequence[Stock], view: View, draw: Draw | None = None) -> None:
        self._stocks, self._view, self._draw = tuple(stocks), view, draw
        self._generator = torch.Generator()
        self._synthesis = InputSynthesis()
        self.enabled = True
        self.parameters_stay = False
        """Whether every call has the parameters that were there before the benchmark."""
        self.bears_huge = False
        """Whether a huge element leaves the reference finite, so that a replaced one may be large too."""
        self.bears_challenge = True
        """Whether replaced elements leave the reference finite at all."""
        self.drawn = False
        """Whether the task draws all inputs: nothing else suits it."""
        self.scales: tuple[float, ...] = ()
        """By what inputs are multiplied in some calls: what other scales ask for must be right, and cost its time, there."""
        self.meant: Sequence[Change] = ()
        """What makes cases from the inputs' meaning; some of the challenges are one of them."""
        self._scale, self._natural, self._at_ends = 1.0, 0.5, True
        self.by: int | None = None
        """Which of them the last challenge was."""

    def windows(self, calls: int, challenge: bool = False, taken: Taken = lambda places: None) -> Places:
        """Byte offsets of every tensor, for each call, parameters last; at most as many calls as there are places.

        `taken` is told of them when parameters are there, and inputs are not.
        """
        if not self.enabled:
            return [tuple(stock.home for stock in self._stocks)] * calls
        self._generator.manual_seed(secrets.randbits(62))
        columns = [self._offsets(stock, calls) for stock in self._stocks]
        windows = [tuple(column[call] for column in columns) for call in range(calls)]
        self._fill_parameters(windows)
        taken(windows)
        self._fill_inputs(windows, challenge and self.bears_challenge)
        return windows

    def refill(self, windows: Places) -> None:
        """Other contents where those of an earlier round lie; none where every call has the first ones."""
        if self.enabled:
            self._fill_parameters(windows)
            self._fill_inputs(windows, challenge=False)

    @property
    def draws(self) -> bool:
        """Whether the task itself draws an input for every call, which takes its time."""
        return self._draw is not None and (self.drawn or any(s.structure.how == "drawn" for s in self._stocks))

    def _offsets(self, stock: Stock, calls: int) -> Sequence[int]:
        if self._stays(stock) and not (self.draws and not stock.parameter):
            return [stock.home] * calls
        return secrets.SystemRandom().sample(stock.places, calls)

    def _fill_parameters(self, windows: Places) -> None:
        changing = [i for i, stock in enumerate(self._stocks) if stock.parameter and not self._stays(stock)]
        for offsets in windows:
            for index in changing:
                self._synthesise(index, offsets, challenge=False)
        self._settle()

    def _fill_inputs(self, windows: Places, challenge: bool) -> None:
        changing = [i for i, stock in enumerate(self._stocks) if not stock.parameter and not self._stays(stock)]
        meant = challenge and self.meant and not secrets.randbelow(KINDS)
        self.by = secrets.randbelow(len(self.meant)) if meant else None
        self._natural, self._at_ends = 1.0 if not secrets.randbelow(KINDS) else 0.5, bool(secrets.randbelow(2))
        for offsets in windows:
            if self.draws:
                assert self._draw is not None
                self._draw(tuple(o for o, s in zip(offsets, self._stocks, strict=True) if not s.parameter))
            self._scale = 1.0 if self.drawn else secrets.choice((*(1.0 for _ in self.scales or "1"), *self.scales))
            for index in changing:
                self._synthesise(index, offsets, challenge)
        self._settle()

    def _stays(self, stock: Stock) -> bool:
        """Whether a call gets what was there before the benchmark."""
        return stock.constant or (stock.parameter and self.parameters_stay)

    def _synthesise(self, index: int, offsets: tuple[int, ...], challenge: bool) -> None:
        stock, child = self._stocks[index], self._view(index, offsets[index])
        if not child.numel():
            return
        if stock.tied is not None:
            child.copy_(self._view(stock.tied, offsets[stock.tied]))
        elif stock.parameter:
            self._synthesis.vary(child, stock.drawn, stock.spec)
        else:
            if not (self.draws and (self.drawn or stock.structure.how == "drawn")):
                self._synthesis.mix(child, stock.drawn, stock.spec, stock.structure, self._scale)
            if challenge and self.by is not None:
                self.meant[self.by](index, child)
            elif challenge:
                self._poke(child, stock)

    def _settle(self) -> None:
        """On a device the changes are only queued; another process is about to read."""
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()

    # --- what is replaced -----------------------------------------------------------------------------------------

    def _poke(self, child: torch.Tensor, stock: Stock) -> None:
        spec, flat = stock.spec, child.view(-1)
        if stock.structure.properties and stock.structure.how == "drawn":
            float8.change(child, lambda values: challenge(stock.structure, values, self._generator))
        elif not self.drawn or spec.scalable:
            where = self._where(spec).to(flat.device)
            flat[where] = self._replaced(flat[where], stock)

    def _where(self, spec: TensorSpec) -> torch.Tensor:
        """Random places, and sometimes both ends, which a loop that stops or begins a few elements off always leaves out."""
        ends = torch.tensor((0, spec.numel - 1)) if self._at_ends else torch.randint(spec.numel, (2,))
        if spec.domain is not Domain.PROBABILITY:
            # Each once, or one replacement would overwrite another; in any order, for the first is the one below zero.
            places = torch.cat((torch.randint(spec.numel, (POKES - 2,), generator=self._generator), ends)).unique()
            return places[torch.randperm(len(places), generator=self._generator)]
        width = spec.shape[-1]
        rows = torch.cat(
            (torch.randint(spec.numel // width, (POKES // 2 - 2,), generator=self._generator), ends // width)
        )
        rows = rows.unique()
        columns = torch.randint(width, (len(rows), 2), generator=self._generator)
        columns[0, 0], columns[-1, 1] = ends % width
        return (rows[:, None] * width + columns).view(-1)

    def _replaced(self, values: torch.Tensor, stock: Stock) -> torch.Tensor:
        spec = stock.spec
        if spec.domain is Domain.PROBABILITY:
            # Two of one row change places, so that it still sums to one.
            return values.view(-1, 2).flip(1).reshape(-1)
        if spec.domain is Domain.MASK:
            return (1 - values.float()).to(values.dtype) if spec.floating else ~values
        if spec.domain is Domain.LABEL and spec.floating:
            # Only values that occur are labels: some of them change places.
            return values[torch.randperm(len(values), generator=self._generator).to(values.device)]
        if not spec.floating:
            return torch.randint(spec.bound or 1, values.shape, generator=self._generator).to(values)
        # No larger than the input distribution of a huge element, which the reference has borne at this dtype.
        strength, found = self._strength(spec), values.float()
        natural = (torch.rand(len(found), generator=self._generator) < self._natural).to(found.device)
        found = torch.where(natural, found + self._others(stock, len(found)).to(found), found * strength + 1)
        if spec.domain is Domain.REAL:
            # One alone is below zero where no draw is: who looks at a few elements hardly ever meets it.
            found[0] = -found[0].abs()
        most = far_above(float8.wide(values))
        return float8.stored(found.clamp(-most, most), values.dtype)

    def _others(self, stock: Stock, count: int) -> torch.Tensor:
        """Elements of what was drawn that are not zero, as many: what is added to zeros must be seen."""
        drawn = stock.drawn.view(-1)
        found = float8.wide(drawn[torch.randint(len(drawn), (MANY,), generator=self._generator).to(drawn.device)])
        found = found[found != 0][:count].float()
        return found if len(found) == count else torch.ones(count)

    def _strength(self, spec: TensorSpec) -> float:
        """Enough to be seen in the mean of the whole tensor, where the task has shown that it bears huge elements."""
        return max(8.0, spec.numel**0.5 / 64) if self.bears_huge else 8.0


class InputSynthesis:
    """Coins and factors of one benchmark, by dtype and device."""

    def __init__(self) -> None:
        self._generator = torch.Generator().manual_seed(secrets.randbits(62))
        self._known: dict[tuple[str, torch.dtype, torch.device], torch.Tensor] = {}
        self._bounded: dict[int, bool] = {}

    def mix(
        self,
        child: torch.Tensor,
        drawn: torch.Tensor,
        spec: TensorSpec,
        structure: Structure = NONE,
        scale: float = 1.0,
    ) -> None:
        """Make a child of two windows of what was drawn: of an input, whose draws are a family.

        Elements come from either, by coins, and are all scaled by a factor, times `scale`, where the domain bears that.
        Those of a probability come from both, each in a proportion of its own, and its rows are made to sum to one.
        """
        if structure.how == "varied":
            self.vary(child, drawn[0], spec)
            _multiply(child, spec, scale / (MOST_FACTOR if structure.bounded else 1.0))
            return
        ring, into = float8.bits(drawn.reshape(-1)), float8.bits(child.view(-1))
        unit = spec.shape[-1] if spec.domain is Domain.PROBABILITY else STEP
        unit = len(into) if structure.how == "aligned" else unit
        parents = (ring, _begin(ring, unit)), (ring, _begin(ring, unit))
        if spec.domain is Domain.PROBABILITY:
            for part, (first, second, factors) in _parts(into, *parents, self._factors(into)):
                torch.addcmul(first, second, factors, out=part)
            _normalise(child)
        elif spec.scalable and not spec.stepped and self._differences_are_finite(drawn):
            # Weights of zero and one choose as `where` does, and several times as fast on a CPU.
            for part, (first, second, coins) in _parts(into, *parents, self._coins(into, into.dtype)):
                torch.lerp(first, second, coins, out=part)
        else:
            for part, (first, second, coins) in _parts(into, *parents, self._coins(into, torch.bool)):
                torch.where(coins, first, second, out=part)
        factor = 0.5 + (0.5 if structure.bounded else 1.0) * secrets.randbelow(1 << 20) / (1 << 20)
        _multiply(child, spec, scale * factor)

    def vary(self, child: torch.Tensor, given: torch.Tensor, spec: TensorSpec) -> None:
        """Make a child of one tensor in its own order: of a parameter, whose elements have their places.

        Each is multiplied by a factor of its own from 0.5 to 1.5, so that infinities and zeros stay what they are.
        """
        for part, (values, factors) in _parts(child.view(-1), (given.reshape(-1), 0), self._factors(given)):
            if spec.stepped:
                part.copy_(float8.stored(values.float() * factors, part.dtype))
            else:
                torch.mul(values, factors, out=part)
        if spec.domain is Domain.PROBABILITY:
            _normalise(child)

    def _differences_are_finite(self, drawn: torch.Tensor) -> bool:
        """Looked at once: what was drawn stays as it is."""
        if drawn.data_ptr() not in self._bounded:
            low, high = (float(x) for x in drawn.aminmax())
            self._bounded[drawn.data_ptr()] = high - low <= torch.finfo(drawn.dtype).max
        return self._bounded[drawn.data_ptr()]

    def _coins(self, like: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, int]:
        key = ("coins", dtype, like.device)
        if key not in self._known:
            # The low bits of random bytes; one by one they would take ten times as long.
            noise = torch.empty(COINS // 8, dtype=torch.int64).random_(generator=self._generator)
            self._known[key] = (noise.view(torch.uint8) & 1).to(like.device).to(dtype)
        return self._known[key], _begin(self._known[key], STEP)

    def _factors(self, like: torch.Tensor) -> tuple[torch.Tensor, int]:
        dtype = torch.float32 if like.dtype in float8.FLOAT8 else like.dtype
        key = ("factors", dtype, like.device)
        if key not in self._known:
            noise = torch.rand(COINS, generator=self._generator) + (MOST_FACTOR - 1)
            self._known[key] = noise.to(like.device, dtype)
        return self._known[key], _begin(self._known[key], STEP)


def _multiply(child: torch.Tensor, spec: TensorSpec, by: float) -> None:
    if spec.scalable:
        float8.change(child, lambda values: values.mul_(by))


def _begin(ring: torch.Tensor, unit: int) -> int:
    """Where a random window of a ring begins; few elements are counted one by one unless they are rows."""
    unit = 1 if unit == STEP and len(ring) < 64 * STEP else max(unit, 1)
    return unit * secrets.randbelow(max(1, len(ring) // unit))


def _parts(
    into: torch.Tensor, *rings: tuple[torch.Tensor, int]
) -> Iterator[tuple[torch.Tensor, tuple[torch.Tensor, ...]]]:
    """Pieces of `into` with the elements of each ring that belong there; none of them goes over a ring's end."""
    done, at = 0, [begin for _, begin in rings]
    while done < len(into):
        size = min(len(into) - done, *(len(ring) - a for (ring, _), a in zip(rings, at, strict=True)))
        yield into[done : done + size], tuple(ring[a : a + size] for (ring, _), a in zip(rings, at, strict=True))
        done, at = done + size, [(a + size) % len(ring) for (ring, _), a in zip(rings, at, strict=True)]


def _normalise(rows: torch.Tensor) -> None:
    rows /= rows.sum(-1, keepdim=True)
