"""Probes of a right and fast candidate: is it right for the reason that it should be?

Each is a function of a `Scene` that returns what it saw, or raises `ProbeFailedError` with the evidence, or `NotRunError`
with the reason. They meet a candidate as a process that computes, whoever's host code runs there.
"""

import itertools
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch

from kernelwright.evaluate import float8, pieces
from kernelwright.evaluate.sandbox.compute_process import ComputeProcess
from kernelwright.evaluate.sandbox.process import ChildRaisedError, TamperedError
from kernelwright.evaluate.session.cases import Case, traps
from kernelwright.evaluate.session.input_sensitivity import Elements
from kernelwright.evaluate.session.loaded import LoadedCandidate, NotRunError, Offsets
from kernelwright.evaluate.session.open_ties import forgive
from kernelwright.evaluate.session.session import Session
from kernelwright.evaluate.verify.compare import Wrong
from kernelwright.evaluate.verify.distributions import REPLACED, InputDistribution
from kernelwright.records.tensor import Domain, TensorSpec

RERUNS = 20
PERTURBATIONS = 8
Results = list[torch.Tensor]


class ProbeFailedError(Exception):
    """The candidate is not what it seemed; `because` is one of the outcomes' reasons."""

    def __init__(self, because: str, evidence: str) -> None:
        super().__init__(evidence)
        self.because, self.evidence = because, evidence


@dataclass
class Scene:
    """What a probe works on."""

    session: Session
    loaded: LoadedCandidate
    busy: Sequence[Callable[[], None]] = ()
    """As `Clock.busy`."""

    def compute(self, places: Sequence[Offsets]) -> list[Results]:
        """Results of one sample, a list for each call; no two of them share memory.

        Raises:
            TamperedError: they do.
            as `ComputeProcess.run`.
        """
        self.loaded.give_parameters(places[0])
        return computed(self.loaded.process, places)

    @property
    def certain(self) -> list[int]:
        """Outputs that are not random."""
        session = self.session
        return [o for o, e in enumerate(session.cases[0].expected) if e.draws == 1]

    def wrong(self, case: Case, results: Results, plainly: bool = False) -> Wrong | None:
        """Why the results of a case, whose inputs are in place, are refused; random outputs are left out.

        `plainly`: nothing is forgiven that rounding would explain, since that takes many calls of the reference to tell.
        """
        for o in self.certain:
            judged = case.expected[o].judge([results[o]])
            if not plainly:
                elements = Elements(o, case.offsets)
                judged = forgive(self.session, case.expected[o], elements, results[o], judged)
            _, found = judged
            if found is not None:
                return Wrong(found.because, f"output {o}: {found.evidence}", found.error)
        return None

    def must_have_outputs(self) -> None:
        """Refuse to probe what is random altogether.

        Raises:
            NotRunError: it is.
        """
        if not self.certain:
            raise NotRunError("every output is random")

    def case_with(self, offsets: Offsets, name: str) -> Case:
        """What is expected of what lies at these offsets now.

        Raises:
            NotRunError: the reference is not finite there.
        """
        case = self.case_at(offsets, InputDistribution(name, (), lambda x, given: None))
        if case is None:
            raise NotRunError(f"the reference is not finite ({name})")
        return case

    def case_at(self, offsets: Offsets, distribution: InputDistribution) -> Case | None:
        """As `case_with`, and None where the reference is not finite."""
        self.session.forget_parameters()
        return self.session.case_at(distribution, offsets)


def computed(process: ComputeProcess, places: Sequence[Offsets]) -> list[Results]:
    """As `Scene.compute`, with the parameters that the process has."""
    ran = process.run(places, checked=False)
    ran.must_be_disjoint()
    # Copies: the launcher's results lie where the next ones will.
    return [[process.read(found).clone() for found in call] for call in ran.results]


def races(scene: Scene) -> str:
    """Many identical runs on a busy machine."""
    scene.must_have_outputs()
    case = scene.session.present(scene.session.cases[0])
    with _busy(scene.busy):
        first, differing = scene.compute([case.offsets])[0], 0
        for number in range(RERUNS + 1):
            # The first one is as likely as any other to be the wrong one.
            again = scene.compute([case.offsets])[0] if number else first
            if number and all(same_bits(first[o], again[o]) for o in scene.certain):
                continue
            differing += number > 0
            if (found := scene.wrong(case, again)) is not None:
                raise ProbeFailedError(
                    "race", f"run {number} of {RERUNS} on the same inputs gives another result: {found.evidence}"
                )
    if differing:
        return f"{differing} of {RERUNS} runs differ from the first in their last bits, within tolerance"
    return f"{RERUNS} runs on a busy machine, equal in every bit"


def perturbation(scene: Scene) -> str:
    """One element changes: the result must change where the reference's does, and nowhere else."""
    scene.must_have_outputs()
    session = scene.session
    if traps(session.task):
        raise NotRunError("beyond what was drawn, its operations end the whole device's process")
    structured = [i for i, s in enumerate(session.structures) if s.how not in ("mixed", "varied")]
    structured += [i for i, spec in enumerate(session.tensors) if spec.name in session.task.workload.constants]
    changeable = [i for i, spec in enumerate(session.tensors) if _changeable(spec) and i not in structured]
    given = [i for i in changeable if i < len(session.inputs) or session.weights == "fresh"]
    # Others can be given to a process that has met none yet; those of construction cannot be given at all.
    others = "private" in scene.loaded.respawns and session.weights == "constant"
    constants = [i for i in changeable if i not in given] if others else []
    if not given and not constants:
        raise NotRunError("no input has an element that can change alone")
    told = [_in_turn(scene, given)] if given else []
    told += [_all_at_once(scene, constants)] if constants else []
    return "; ".join(told)


def _in_turn(scene: Scene, changeable: Sequence[int]) -> str:
    """Single elements of these tensors, one after another, in the process that is there."""
    session, offsets = scene.session, scene.session.cases[0].offsets
    before = session.results("eager", offsets)
    seen, left_out = 0, 0
    chosen = _each(changeable)
    for number, index in enumerate(chosen):
        # Each in turn above and below zero: what looks at a few elements for a sign takes the others for like them.
        place = _place(session.tensors[index].numel, number // len(changeable), len(chosen) // len(changeable))
        with _changed(session, index, offsets[index], place, (number // len(changeable) + index) % 2 == 1) as told:
            case = scene.case_at(offsets, REPLACED)
            if case is None:
                left_out += 1
                continue
            found = scene.wrong(case, scene.compute([offsets])[0])
            after = session.results("eager", offsets)
            seen += any(not same_bits(before[o], after[o]) for o in scene.certain)
        session.forget_parameters()
        if found is not None:
            raise ProbeFailedError("perturbation", f"after {told}, {found.evidence}")
    if left_out == len(chosen):
        raise NotRunError("the reference is not finite where one element is changed")
    return f"{len(chosen) - left_out} single elements changed, {seen} of them to be seen in the reference's result"


def _each(changeable: Sequence[int]) -> list[int]:
    """Every tensor at least once, again and again where they are few."""
    return list(itertools.islice(itertools.cycle(changeable), max(PERTURBATIONS, len(changeable))))


def _place(count: int, turn: int, turns: int) -> int:
    """Where a tensor of so many elements changes in one of its turns.

    A loop that stops or begins a few elements off leaves out the ends, which no random place is likely to be. The last one
    comes twice, for signs alternate.
    """
    if turns == 1:
        return secrets.choice((count - 1, secrets.randbelow(count)))
    ends = {0: count - 1, 2: 0, 3: count - 1}
    return ends[turn] if turn in ends else secrets.randbelow(count)


def _all_at_once(scene: Scene, constants: Sequence[int]) -> str:
    """Single elements of parameters that are constant, together: what is worked out of them is so once for each process."""
    session, offsets = scene.session, scene.session.cases[0].offsets
    chosen = _each(constants)
    turns = len(chosen) // len(constants)
    places = [_place(session.tensors[index].numel, n // len(constants), turns) for n, index in enumerate(chosen)]
    with ExitStack() as held:
        told = [
            held.enter_context(_changed(session, index, offsets[index], place, number % 2 == 1))
            for number, (index, place) in enumerate(zip(chosen, places, strict=True))
        ]
        case = scene.case_at(offsets, REPLACED)
        if case is None:
            raise NotRunError("the reference is not finite where elements of its parameters are changed")
        found = scene.wrong(case, _loaded_again(scene, case))
    if found is not None:
        raise ProbeFailedError("perturbation", f"loaded after {', '.join(told)}, {found.evidence}")
    return f"{len(chosen)} elements of constant parameters changed before it was loaded"


def _loaded_again(scene: Scene, case: Case) -> Results:
    """What the candidate makes of a case in one more process."""
    try:
        with scene.loaded.respawn("private", case) as other:
            return computed(other.process, [case.offsets])[0]
    except ChildRaisedError as error:
        if error.full:
            raise NotRunError("there is no room for it in one more process, with other constants") from None
        raise


def new_values(scene: Scene) -> str:
    """Other values where some lay before: a result that was kept for its pointer is stale."""
    scene.must_have_outputs()
    here, there = _two_places(scene)
    scene.compute([here])
    with _exchanged(scene.session, here, there):
        case = scene.case_with(here, "other values in the same storage")
        found = scene.wrong(case, scene.compute([here])[0])
    if found is not None:
        raise ProbeFailedError("stale", f"with other values in the same storage, {found.evidence}")
    return "other values in the same storage: right"


def new_storage(scene: Scene) -> str:
    """The same values elsewhere, others where they lay: a result must not depend on where its inputs lie, or lay."""
    scene.must_have_outputs()
    here, there = _two_places(scene)
    inputs = len(scene.session.inputs)
    moved = (*there[:inputs], *here[inputs:])
    first = scene.compute([here])[0]
    with _exchanged(scene.session, there, here):
        second = scene.compute([moved])[0]
    found = scene.wrong(scene.session.cases[0], second)
    if found is not None:
        raise ProbeFailedError("stale", f"with the same values in other storage, {found.evidence}")
    equal = all(same_bits(first[o], second[o]) for o in scene.certain)
    return f"the same values in other storage: {'equal in every bit' if equal else 'right, not equal in every bit'}"


def two_results(scene: Scene) -> str:
    """Two results at once, of inputs in two places and the same parameters: the second must not change the first."""
    scene.must_have_outputs()
    if not scene.loaded.process.has_room(scene.session.task.workload.outputs, calls=2):
        raise NotRunError("the device has no room for two results at once")
    here, there = _two_places(scene)
    inputs = len(scene.session.inputs)
    places = [here, (*there[:inputs], *here[inputs:])]
    cases = [scene.case_with(place, f"number {number}") for number, place in enumerate(places, 1)]
    try:
        results = scene.compute(places)
    except TamperedError as error:
        raise ProbeFailedError("shared_results", str(error)) from None
    for case, found in zip(cases, results, strict=True):
        if (wrong := scene.wrong(case, found)) is not None:
            raise ProbeFailedError(
                "shared_results", f"of two results that are kept, {case.distribution}: {wrong.evidence}"
            )
    return "two results kept at once: both right"


def same_bits(some: torch.Tensor, others: torch.Tensor) -> bool:
    """Whether two results are equal in every bit, zeros' signs and NaNs included."""
    a, b = (t.contiguous().reshape(-1).view(torch.uint8) for t in (some, others))
    if len(a) % 8 == a.storage_offset() % 8 == b.storage_offset() % 8 == 0 and len(a) == len(b):
        # A device compares elements, whatever their size.
        a, b = a.view(torch.int64), b.view(torch.int64)
    return pieces.equal(a, b)


def elsewhere(scene: Scene) -> Offsets:
    """A place of inputs that are not the first case's.

    Raises:
        NotRunError: there is none.
    """
    return _two_places(scene)[1]


def _two_places(scene: Scene) -> tuple[Offsets, Offsets]:
    inputs = len(scene.session.inputs)
    first = scene.session.cases[0].offsets
    for case in scene.session.cases[1:]:
        if all(a != b for a, b in zip(first[:inputs], case.offsets[:inputs], strict=True)):
            return first, scene.session.present(case).offsets
    raise NotRunError("the inputs lie in one place only")


@contextmanager
def _exchanged(session: Session, some: Offsets, others: Offsets) -> Iterator[None]:
    """Inputs that lie in two places change them, for a while."""
    _exchange(session, some, others)
    try:
        yield
    finally:
        _exchange(session, some, others)


def _exchange(session: Session, some: Offsets, others: Offsets) -> None:
    """Piece by piece: a copy of all could be too large."""
    for i in range(len(session.inputs)):
        both = (pieces.of(session.view(i, places[i])) for places in (some, others))
        for one, other in zip(*both, strict=True):
            before = one.clone()
            one.copy_(other)
            other.copy_(before)
    session.memory.settle()


def _changeable(spec: TensorSpec) -> bool:
    if not spec.numel:
        return False
    return spec.scalable or spec.domain is Domain.MASK or (not spec.floating and (spec.bound or 0) > 1)


@contextmanager
def _changed(session: Session, index: int, offset: int, where: int, negative: bool) -> Iterator[str]:
    """Change one element of a tensor, for a while, below zero where it may be; gives the change in words."""
    spec = session.tensors[index]
    flat = session.view(index, offset).view(-1)
    before = flat[where].clone()
    flat[where] = after = _other(before, spec, negative)
    session.memory.settle()
    try:
        yield f"{spec.name}[{where}] became {after.item():.6g} instead of {before.item():.6g}"
    finally:
        flat[where] = before
        session.memory.settle()


def _other(value: torch.Tensor, spec: TensorSpec, negative: bool) -> torch.Tensor:
    if spec.domain is Domain.MASK:
        return 1 - value if spec.floating else ~value
    if not spec.floating:
        return (value + 1 + secrets.randbelow((spec.bound or 2) - 1)) % (spec.bound or 2)
    if not bool(torch.isfinite(float8.wide(value))):
        return value
    if negative and spec.domain is Domain.REAL:
        return float8.stored(-8 - value.float().abs() * 8, value.dtype)
    return float8.stored(value.float().abs() * 8 + 8, value.dtype)


@contextmanager
def _busy(jobs: Sequence[Callable[[], None]]) -> Iterator[None]:
    """Repeat these pieces of work meanwhile, a thread each."""
    over = threading.Event()

    def repeat(job: Callable[[], None]) -> None:
        while not over.is_set():
            job()

    threads = [threading.Thread(target=repeat, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


PROBES: dict[str, Callable[[Scene], str]] = {
    probe.__name__: probe for probe in (races, perturbation, new_values, new_storage, two_results)
}
"""By the name of their defence."""
