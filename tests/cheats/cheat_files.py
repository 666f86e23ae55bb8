"""Kernels of the cheats as files, each with what is known of it in comments at its head: `// task: affine`, `// expect: …`.

A file of `defended` holds the honest kernel and the cheat, chosen by the macro CHEAT; one without that macro has no twin.

- `defence`: which defence catches it. Without it the cheat gets through, or the defence would be decoration.
- `task`: names of `cheat_tasks.TASKS`. `also`: other defences that catch it as well, and are off in every judgement.
- `expect`: the outcome and what for; `case`, `says`, `cases`: which case tells it, words of the evidence, how many cases ran.
- `gain`: it cheats the clock. Where it is not noticed it must gain nothing over its twin; without its defence it is at least
  that many times as fast.
- `needs`: a fixture. `leaves`: a file that it leaves outside where nothing stops it.
- `TASK_affine` and the like is defined where that task is judged.
- `lane`: `quiet`, for what compares times; `matrix`, for what takes long; both.
- `twin`, `cheat`: the two kernels, where they are files of their own.
"""

import re
from pathlib import Path
from typing import NamedTuple

from kernelwright.records.measure import Timing

HERE = Path(__file__).parent
FOLDER = HERE / "defended"
FIELD = re.compile(r"^// (\w+): (.*)$", re.MULTILINE)


class Cheat(NamedTuple):
    """One cheat and its honest twin."""

    name: str
    says: dict[str, str]
    """The fields at the head of its file."""
    source: str

    @property
    def tasks(self) -> list[str]:
        """Names of the tasks that it is a kernel of."""
        return self.says["task"].split(", ")

    @property
    def also(self) -> tuple[str, ...]:
        """Defences that are off in every judgement."""
        return tuple(filter(None, self.says.get("also", "").split(", ")))

    @property
    def gain(self) -> float | None:
        """How many times as fast as its twin it is without its defence; None: it does not cheat the clock."""
        return float(self.says["gain"]) if "gain" in self.says else None


def read(file: Path) -> Cheat:
    """One file, and those that it names."""
    text, says = file.read_text(), fields(file)
    if "cheat" in says:
        cheat, twin = ((HERE / f"{says[key]}.cpp").read_text() for key in ("cheat", "twin"))
        text += f"#if CHEAT\n{cheat}\n#else\n{twin}\n#endif\n".replace(" entry(", " kernel(")
    return Cheat(file.stem, says, text)


def fields(file: Path) -> dict[str, str]:
    """What a kernel says of itself at its head, of this folder or of `outsider` and `insider`."""
    return dict(reversed(FIELD.findall(file.read_text())))


def gained(cheat: Timing, twin: Timing, noise: float = 1.25) -> bool:
    """Whether a cheat looks faster than its honest twin by more than noise.

    By its time, and by the ratio to eager's: what else runs may slow eager alone, or one of the two kernels.
    """
    ratios = cheat.against("eager").speedup.low, twin.against("eager").speedup.high
    return ratios[0] >= noise * ratios[1] and noise * cheat.latency_us <= twin.latency_us


CHEATS = {file.stem: read(file) for file in sorted(FOLDER.glob("*.cpp"))}
