"""Pipelines: named stages with typed settings, read from TOML. Loads no torch.

A recipe that is `like` another has that one's stages, with settings over them, and so may a stage be `like` another stage.
A stage's folder is FOLDER/NAME. `model` and `data` name other stages, or paths; `a|b` takes the first that is there. A
stage begins once those are there and every stage in `after` is done. A table that is a recipe of `kernelwright train` (`sft`,
`grpo`, `judge`) has the settings of that recipe and those of `Stage`.
"""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from kernelwright.errors import UsageError
from kernelwright.models.small import NAME as SMALL
from kernelwright.models.small import find_small
from kernelwright.pages import page
from kernelwright.records.base import Record, complaint
from kernelwright.records.policy import Policy
from kernelwright.train.recipe import MODEL, Grpo, Judge, Sft

PIPELINE = "pipeline.json"
HERE = Path(__file__).parent
REFEREE = Policy(compile_limit_s=40.0, seeds=3)
RETUNED = Policy(
    compile_limit_s=6.0, seeds=3, search_seconds=0.3, search_blocks=12, baselines=("eager",), counters=False
)
"""Tiles that compile for half a minute are too large to be fast, and a set of rollouts waited for two or three of them."""


class Stage(Record):
    """What every stage has."""

    after: tuple[str, ...] = ()
    """Stages that must be done first, beside those that `model` and `data` name."""
    needs: float = 60.0
    """Seconds that must be left for it to begin."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Of its process."""
    exclusive: bool = False
    """Workers take turns on the device, also with those of other stages in this folder: one kernel is timed at a time."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """What it reads, as it is named."""
        return tuple(str(value) for name in ("model", "data", "variants") if (value := getattr(self, name, "")))


class Training(Stage):
    """What stages have that are a training run of their own, `kernelwright train sft|grpo|judge`."""

    processes: int = Field(default=1, ge=1)
    """That train together, under torchrun."""
    reserve: float = 0.0
    """Seconds of a call that are left to later stages."""


class SftStage(Training, Sft):
    """Supervised fine-tuning. `seconds` are of all calls together."""


class GrpoStage(Training, Grpo):
    """Reinforcement learning. `seconds` are of all calls together."""


class JudgeStage(Training, Judge):
    """Fine-tuning of a judge."""


class Pairs(Stage):
    """Pairs in bulk without a referee: random modules, and kernels of the author or of `torch.compile` (`pairs.py`)."""

    kind: Literal["pairs"] = "pairs"
    origin: Literal["author", "compile"] = "author"
    first: int = 0
    """Seed of the first module."""
    count: int = 4000
    most_characters: int = 2600
    """Of a kernel."""
    least_lines: int = 0
    """Of a module before its result: small models err most in long ones."""
    wide: bool = False
    """Modules of many kinds (`data/wide.py`) rather than chains on matrices."""
    totals: bool = False
    """Only modules whose result is one number, which chance alone makes rare."""
    of_structure: int = 2
    """Most pairs of one structure."""
    workers: int = 1
    packed: str = ""
    """A file to write all pairs to, compressed."""
    begin_with: str = ""
    """A packed file whose pairs are there from the beginning."""


class Unpack(Stage):
    """A data set of packed pairs, or of other data sets."""

    kind: Literal["unpack"] = "unpack"
    files: tuple[str, ...]
    count: int = 40_000
    shortest: bool = False
    """The shortest pairs rather than the first."""


class Scratch(Stage):
    """A model without knowledge and a tokenizer of its own."""

    kind: Literal["scratch"] = "scratch"
    data: str
    size: str = "24M"
    vocabulary: int = 4096
    shown: int = 1000
    """Training samples that the tokenizer learns from."""
    variant: str = "standard"
    """Of the prompts, as in the recipes of training; and `forms` of the modules."""
    forms: int = 1
    seed: int = 0


class Refereed(Stage):
    """Stages that ask the referee."""

    data: str
    workers: int = 8
    gpus: tuple[str, ...] = ()
    """Of the workers; none: the trainer's."""
    target: str | None = None
    interpreted: bool = False
    """As in a GRPO recipe: verdicts take cores and no device."""
    policy: Policy = REFEREE
    seed: int = 0


class Written(Refereed):
    """Stages in which a model writes."""

    model: str
    samples: int = 8
    """Replies to each task."""
    max_new_tokens: int = 1056
    temperature: float = 1.0
    cache: Literal["dynamic", "static"] = "dynamic"
    variant: str = "standard"
    """Of the prompts."""
    over: str = ""
    """An earlier measure of the same tasks, to say what was gained."""


class Practice(Stage):
    """Modules for GRPO: of held-out families that no measure has, those that the model is unsure of."""

    kind: Literal["practice"] = "practice"
    model: str
    data: str
    tasks: int = 48
    candidates: int = 600
    """Modules whose likelihood is looked at."""
    variant: str = "standard"
    """Of the prompts."""
    restyle: bool = False
    """Most modules in another form: a policy that has seen one form errs alike from module to module there."""
    max_new_tokens: int = 1056
    seed: int = 0


class Measure(Written):
    """pass@k on held-out families, and what the author's kernels of the same tasks come to."""

    kind: Literal["measure"] = "measure"
    families: int = 32
    form: int = 0
    """0: modules as they were written; any other: in another form."""
    first_file: bool = True
    """Families of the first packed file come first, which have been measured longest."""


class Timed(Written):
    """Kernels of the model for tasks, timed: files, and the mean square error on tensors of these sizes."""

    kind: Literal["timed"] = "timed"
    data: str = ""
    task_files: tuple[str, ...] = ("examples/mse_loss.py",)
    mse: tuple[str, ...] = ("4096, 4096", "64, 512")
    samples: int = 32
    workers: int = 1


class Cheats(Refereed):
    """Share of known hacks that are paid, under the full referee and without its poison and the hack filters."""

    kind: Literal["cheats"] = "cheats"
    families: int = 4


class Recheck(Refereed):
    """So many pairs by chance before the whole referee: what share of them is right here."""

    kind: Literal["recheck"] = "recheck"
    count: int = 24
    split: Literal["train", "heldout", "all"] = "train"


class Variants(Refereed):
    """Modules in a size where time tells, and the author's kernel of each under several settings, timed: parents of edits.

    samples.jsonl has pairs from a kernel to a faster one, practice/samples.jsonl the kernels that GRPO begins from.
    """

    kind: Literal["variants"] = "variants"
    rows: int = 4096
    columns: int = 2048
    modules: int = 16
    heldout: int = 6
    practice: int = 0
    """Modules of held-out families for GRPO, beside those that are measured."""
    practised: int = 0
    """Their first kernels that are practised on; 0: all."""
    variants_each: int = 4
    seconds: float = 240.0
    timed: tuple[str, ...] = ()
    """Packed kernels that were timed before: on this kind of device they are parents, on others they teach what is faster."""
    workers: int = 1
    policy: Policy = RETUNED


class Retuned(Stage):
    """Pairs of a kernel and the same under other settings, both by chance: nothing is timed."""

    kind: Literal["retuned"] = "retuned"
    data: str
    variants: str = ""
    """A stage of variants whose timed pairs are added; as many others are made. Without a `count`."""
    count: int = 0
    split: Literal["train", "heldout"] = "train"
    """`heldout`: modules that this stage of `variants` neither measures nor practises on."""
    seed: int = 0


class Edits(Written):
    """Edits of timed kernels of held-out modules, and what they gain."""

    kind: Literal["edits"] = "edits"
    variants: str
    practised: bool = False
    """Of the kernels that GRPO practises on, not of each held-out module's slowest."""
    samples: int = 6
    max_new_tokens: int = 256
    workers: int = 1
    policy: Policy = RETUNED


class Decoding(Stage):
    """Seconds of writing a batch of replies with each kind of cache."""

    kind: Literal["decoding"] = "decoding"
    model: str
    data: str
    rows: int = 64
    tokens: int = 256


AnyStage = Annotated[
    SftStage | GrpoStage | JudgeStage | Pairs | Unpack | Scratch | Practice | Measure | Timed | Cheats | Recheck | Variants
    | Retuned | Edits | Decoding,
    Field(discriminator="kind"),
]  # fmt: skip


class Pipeline(Record):
    """Stages in the order in which they are tried, the most valuable first."""

    about: str
    known: str = ""
    """Figures of an earlier pipeline on the same kind of device: `before` and `forms` need not be measured again."""
    stages: dict[str, AnyStage]


PIPELINES: TypeAdapter[Pipeline] = TypeAdapter(Pipeline)


def names() -> tuple[str, ...]:
    """The recipes that come with the package."""
    return tuple(sorted(file.stem for file in HERE.glob("*.toml")))


def read_pipeline(recipe: str, settings: Mapping[str, JsonValue]) -> Pipeline:
    """A packaged recipe by its name, or a file's, with settings over it.

    Args:
        recipe: A name or a file.
        settings: By `STAGE.NAME`; a bare name is set in every stage that has it.

    Raises:
        UsageError: there is no such recipe, or a setting is unknown or out of bounds; all of them are named.
    """
    table = _table(recipe)
    stages = {name: value for name, value in table.items() if isinstance(value, dict)}
    head = {name: value for name, value in table.items() if name not in stages}
    for name, value in settings.items():
        stage, _, field = name.rpartition(".")
        if not stage and field in Pipeline.model_fields:
            head[field] = value
            continue
        having = [stage] if stage in stages else [] if stage else [one for one in stages if _has(stages, one, field)]
        if not having:
            raise UsageError(f"--set {name}: the recipe has the stages {', '.join(stages)}, and none of that setting")
        for one in having:
            stages[one][field] = value
    try:
        whole = {name: _settings(stages, name) for name in stages}
        return PIPELINES.validate_python({**head, "stages": whole})
    except ValidationError as error:
        # A place is ("stages", name, kind, setting).
        faults = "; ".join(
            f"{'.'.join(map(str, f['loc'][1:2] + f['loc'][3:]))}: {complaint(f)}" for f in error.errors()
        )
        raise UsageError(f"recipe {recipe!r}: {faults}. See {page('training.md')}, Pipelines") from None


def _has(stages: Mapping[str, Mapping[str, JsonValue]], name: str, field: str) -> bool:
    """Whether a stage has a setting of its own: one that is `like` another takes that one's."""
    kinds: Iterable[type[Stage]] = AnyStage.__origin__.__args__  # type: ignore[attr-defined]
    kind = None if "like" in stages[name] and field not in stages[name] else _settings(stages, name).get("kind")
    return any(field in one.model_fields for one in kinds if one.model_fields["kind"].default == kind)


def _settings(stages: Mapping[str, Mapping[str, JsonValue]], name: str) -> dict[str, JsonValue]:
    """A stage's settings over those of the stage that it is `like`."""
    own = {**stages[name]}
    other = str(own.pop("like", ""))
    if other and other not in stages:
        raise UsageError(f"stage {name!r} is like {other!r}, which the recipe has not")
    return {**(_settings(stages, other) if other else {}), **own}


def _table(recipe: str) -> dict[str, JsonValue]:
    """A recipe's table over that of the recipe which it is `like`."""
    file = HERE / f"{recipe}.toml" if recipe in names() else Path(recipe)
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"recipe {recipe!r} is none of {', '.join(names())}, and no file ({error})") from None
    base = _table(table.pop("like")) if "like" in table else {}
    for name, value in table.items():
        before = base.get(name)
        base[name] = {**before, **value} if isinstance(value, dict) and isinstance(before, dict) else value
    return base


def data_of(folder: Path, name: str) -> Path:
    """The data set that a stage names: another stage's, or a path."""
    return next((one for one in _places(folder, name) if one.exists()), _places(folder, name)[0])


def model_of(folder: Path, name: str) -> str:
    """The weights that a stage names: the first of those that are there.

    Raises:
        UsageError: none is.
    """
    for one in name.split("|"):
        for place in (folder / one / MODEL, Path(one)):
            if (place / "config.json").exists() or place.is_file():
                return str(place)
        if one == SMALL:
            return str(find_small())
    raise UsageError(f"model {name!r}: neither a stage of {folder} with weights nor a checkpoint")


def _places(folder: Path, name: str) -> list[Path]:
    return [place for one in name.split("|") for place in (folder / one, Path(one))]
