"""RunConfig: every option of a run, as one frozen tree.

A TOML file goes in, flags override the file, and the resolved tree is stored on the run's card and checked when the run
is resumed. Each part's options are next to the part (`search`, `records.policy`, `engine.budget`).
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, cast

from pydantic import Field, JsonValue, ValidationError, field_validator, model_validator

from kernelwright.devices import kinds
from kernelwright.engine.budget import Budget
from kernelwright.engine.predictor import PredictorConfig
from kernelwright.errors import UsageError
from kernelwright.execution.executor import Place
from kernelwright.models.config import DEFAULT as EVERY_ROLE
from kernelwright.models.config import ModelConfig
from kernelwright.models.small import NAME as SMALL
from kernelwright.models.small import small_prompts
from kernelwright.pages import page
from kernelwright.propose.llm.render import TRAINED
from kernelwright.propose.team import TOGETHER
from kernelwright.records.base import Record, complaint
from kernelwright.records.names import KindName, LanguageName
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target, TaskLimits
from kernelwright.reward.table import is_reward, reward_names
from kernelwright.search.table import DEFAULT, AnyStrategy

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Settings = Mapping[str, JsonValue]
DEFAULT_REWARD = "tritongym"
AUTHOR, INDUCTOR, LLM = "author", "inductor", "llm"
"""The built-in proposer, what `torch.compile` writes, and the one that asks models for kernels."""
COLLEAGUES = f"{AUTHOR}{TOGETHER}{INDUCTOR}"
"""Who writes where nobody is named and each can have its turn (`without_inductor`)."""
FEWEST = 4
"""Proposals of which one is worth spending on what `torch.compile` writes."""
FIRST_PROMPTS: Settings = {"name": "best_of_n", "role": "frontend"}
"""The strategy of a model that knows no other prompt than the frontend's first."""

QUICK_FINAL_S, ON_GPU_S = 10.0, 5.0
"""Seconds of a quick final's clock, and on a GPU, whose calls differ by less than a busy CPU's."""
Work = Literal["quick", "standard", "thorough"]
EFFORTS: Mapping[Work, Settings] = {
    "quick": {
        "autotune": {"points": 6},
        "remeasurement": {"finalists": 1},
        "policy": {
            "search_blocks": 12,
            "search_seconds": 2.0,
            "final_blocks": 30,
            "final_seconds": QUICK_FINAL_S,
            "final_baselines": [],
        },
    },
    "standard": {},
    "thorough": {
        "autotune": {"points": 48},
        "remeasurement": {"finalists": 5},
        "policy": {"search_blocks": 32, "search_precision": 0.01, "search_seconds": 8.0, "tuning_limit_s": 600.0},
    },
}
"""Settings that an effort brings, under whatever a file or a flag says: how many points of a kernel's tunables are tried, and
how long each is timed. A quick final leaves out what `torch.compile` with all its tuning takes longest to make."""
SEARCH_S: Mapping[Work, float] = {"quick": 8.0, "standard": 150.0}
"""Seconds of evaluations on a GPU after which a search without a model asks for no more kernels, so that a run takes about a
minute, or five: the first kernel is a good one, and each of a large task takes as long."""
SHARE: Mapping[Work, float] = {"quick": 0.5, "standard": 1.0, "thorough": 4.0}
"""Of the proposals that the strategy usually needs."""


class Autotune(Record):
    """How a candidate's declared tunables are tried."""

    points: int = Field(default=16, ge=1)
    """Most points for one candidate; of a larger space the default and a seeded sample are tried."""


class Remeasurement(Record):
    """How the finalists are measured again."""

    enabled: bool = True
    finalists: int = Field(default=3, ge=1)
    """Most candidates that are measured again."""
    min_speedup: float = Field(default=1.0, ge=0)
    """What the lower end of the speedup over eager must exceed; otherwise PyTorch stays and no drop-in is written."""
    keep_slower: bool = False
    """Write the best kernel however slow it is."""


def own_reward(strategy: str) -> str:
    """The reward that a strategy's paper has; the default one where it has none."""
    return strategy if is_reward(strategy) else DEFAULT_REWARD


class RunConfig(Record):
    """A run's configuration, all defaults filled in."""

    seed: int = 0
    effort: Work = "standard"
    """How much work the search does, where nothing more particular is said; see `EFFORTS`."""
    target_us: float | None = Field(default=None, gt=0)
    """Call time that is good enough; strategies that can will stop there."""
    in_flight: int = Field(default=2, ge=1)
    """Proposal requests worked on at once. Part of the search: another value is another sequence of proposals."""
    proposer: str = COLLEAGUES
    """`author`, `inductor`, `llm` or several of them with `+` between; `llm:NAME` for another variant of the prompts."""
    models: dict[str, ModelConfig] = Field(default_factory=dict)
    """Which model serves which role; `default` serves those that are not named."""
    language: LanguageName | None = None
    """What is written; None: the proposer's choice for the target."""
    predictor: PredictorConfig | None = None
    """Ranks proposals before device time is spent; None: they are evaluated as they come."""
    reward: str = DEFAULT_REWARD
    """Where none is named: the one that has the strategy's name, if there is one."""
    cache: bool = True
    """Search evaluations are taken over from earlier runs, and kept for later ones."""
    withhold_feedback: bool = False
    """The control arm: proposers see their parents' sources and nothing of what became of them."""
    budget: Budget = Budget()
    strategy: AnyStrategy = DEFAULT
    graph_id: str = ""
    """The graph of techniques that the strategy walks, by its content; filled in as the run begins."""
    autotune: Autotune = Autotune()
    remeasurement: Remeasurement = Remeasurement()
    policy: Policy = Policy()
    execution: Literal["local", "ray"] = "local"
    """Where kernels are judged: on this machine, or on a Ray cluster."""
    ray_address: str | None = None
    """Of the cluster's head; None: what RAY_ADDRESS says, or a cluster started on this machine."""

    @property
    def place(self) -> Place:
        """Where kernels are judged."""
        return Place(self.execution, self.ray_address)

    @model_validator(mode="before")
    @classmethod
    def _apply_effort(cls, given: object) -> object:
        """The settings that the effort brings stand in the configuration, so that the card says what was used."""
        brought = next(
            (own for name, own in EFFORTS.items() if isinstance(given, dict) and given.get("effort") == name), None
        )
        return merge(brought, given) if brought and isinstance(given, dict) else given

    @model_validator(mode="before")
    @classmethod
    def _apply_small_model(cls, given: object) -> object:
        """The packaged model knows the frontend's first prompt as training shows it: no other is asked, if none is named."""
        model = (given.get("models") or {}).get(EVERY_ROLE) if isinstance(given, dict) else None
        name = model.get("name") if isinstance(model, dict) else getattr(model, "name", None)
        if name != SMALL or not isinstance(given, dict):
            return given
        proposer = given.get("proposer")
        prompts = {"proposer": f"{LLM}:{small_prompts(TRAINED)}"} if proposer in (None, LLM) else {}
        return {**given, **({"strategy": FIRST_PROMPTS} if given.get("strategy") is None else {}), **prompts}

    @model_validator(mode="before")
    @classmethod
    def _default_reward(cls, given: object) -> object:
        """The strategy's own reward stands in the configuration, so that the card says what was used."""
        if not isinstance(given, dict) or "reward" in given:
            return given
        strategy = given.get("strategy")
        name = strategy.get("name") if isinstance(strategy, dict) else getattr(strategy, "name", None)
        return {**given, "reward": own_reward(name) if isinstance(name, str) else DEFAULT_REWARD}

    @model_validator(mode="after")
    def _default_budget(self) -> Self:
        """The proposals that the strategy needs stand in the configuration, where nobody has named a number."""
        if "proposals" not in self.budget.model_fields_set:
            whole = {**self.budget.model_dump(), "proposals": _proposals(self)}
            object.__setattr__(self, "budget", Budget.model_validate(whole))
        return self

    @field_validator("reward")
    @classmethod
    def _reward_is_known(cls, name: str) -> str:
        if not is_reward(name):
            raise ValueError(f"must be one of {', '.join(reward_names())}")
        return name


def _proposals(config: RunConfig) -> int:
    """The budget that the strategy needs, for more or less effort."""
    return max(1, round(config.strategy.usual_proposals() * SHARE[config.effort]))


def load_config(
    file: Path | None, flags: Settings, given: str = "the flags", tell: Callable[[str], None] = lambda text: None
) -> RunConfig:
    """The file's settings with the flags over them, which a message calls what their author `given` them as.

    `tell` hears which of the file's settings are not used.

    Raises:
        UsageError: the file cannot be read, or a setting is unknown or out of bounds; all of them are named.
    """
    below = _toml(file) if file else {}
    settings = merge(below, flags)
    for name in unused(below, flags):
        tell(f"{name} in {str(file)!r} is not used: it is of another one than {given} name")
    try:
        return RunConfig.model_validate(settings)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc'])}: {_fault_text(fault)}" for fault in error.errors()
        )
        where = f"configuration {str(file)!r} and {given}" if file else given
        raise UsageError(
            f"{where} do not make a run: {faults}. {page('configuration.md')} lists every setting"
        ) from None


def _fault_text(fault: "ErrorDetails") -> str:
    if fault["type"] != "extra_forbidden":
        return complaint(fault)
    *owners, name = map(str, fault["loc"])
    return f"there is no such setting{nearest(name, _settings_of(owners))}"


def _settings_of(owners: Sequence[str]) -> Iterable[str]:
    """The names in a part of the tree; none where several kinds can stand there, as of the strategy."""
    part: object = RunConfig
    for owner in owners:
        field = part.model_fields.get(owner) if isinstance(part, type) and issubclass(part, Record) else None
        part = field.annotation if field else None
    return part.model_fields if isinstance(part, type) and issubclass(part, Record) else ()


def nearest(name: str, names: Iterable[str]) -> str:
    """Such as ` (did you mean 'budget'?)`; empty where no name is alike."""
    near = get_close_matches(name, list(names), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def complete_config(config: RunConfig, limits: TaskLimits, target: Target, *, compared: bool = False) -> RunConfig:
    """The configuration with all that the task and its target decide.

    A run that is `compared` with others has no time limit of its own: all of them spend the same budget.
    """
    config = without_inductor(with_task_defaults(config, limits, target.kind), target)
    return config if compared else with_time_limit(config, target)


def with_task_defaults(config: RunConfig, limits: TaskLimits, kind: KindName) -> RunConfig:
    """The task's goal, and the strategy's own writer and language, where nobody gave another one."""
    wanted = config.target_us if config.target_us is not None else limits.target_us
    written = config.strategy.proposer if config.proposer in (AUTHOR, COLLEAGUES) else ""
    proposer = written or config.proposer
    usual = config.strategy.languages.get(kind) if proposer.partition(":")[0] == LLM else None
    return config.model_copy(update={"target_us": wanted, "proposer": proposer, "language": config.language or usual})


def without_inductor(config: RunConfig, target: Target) -> RunConfig:
    """The author alone, unless proposers were named, where `torch.compile` can be no second one.

    It can where kernels are timed against it and the budget has room for its turn.
    """
    has_turn = "compile" in config.policy.baselines and config.budget.proposals >= FEWEST
    if config.proposer != COLLEAGUES or (target.present and has_turn):
        return config
    return config.model_copy(update={"proposer": AUTHOR})


def with_time_limit(config: RunConfig, target: Target) -> RunConfig:
    """A search on a GPU that is not thorough ends by time too, if no model, no other strategy and no budget was named.

    On a CPU the first evaluation compiles the baselines, which alone takes longer.
    """
    alone = {*config.proposer.split(TOGETHER)} <= {AUTHOR, INDUCTOR} and config.strategy.name == DEFAULT.name
    usual = config.budget == Budget(proposals=_proposals(config))
    if config.effort not in SEARCH_S or not (alone and usual and target.present and kinds()[target.kind].gpu):
        return config
    update: dict[str, object] = {"budget": config.budget.model_copy(update={"device_s": SEARCH_S[config.effort]})}
    if config.effort == "quick" and config.policy.final_seconds == QUICK_FINAL_S:
        update["policy"] = config.policy.model_copy(update={"final_seconds": ON_GPU_S})
    return config.model_copy(update=update)


def merge(below: Settings, above: Settings) -> dict[str, JsonValue]:
    """`above` over `below`, table by table; another strategy drops the settings of the one below it."""
    merged = dict(below)
    for name, value in above.items():
        old = merged.get(name)
        together = isinstance(old, dict) and isinstance(value, dict) and _alike(old, value)
        merged[name] = merge(cast("Settings", old), cast("Settings", value)) if together else value
    return merged


def _alike(old: Settings, new: Settings) -> bool:
    """Whether two tables are about the same strategy or model, or one of them does not say about which."""
    return old.get("name") is None or old["name"] == new.get("name", old["name"])


def unused(below: Settings, above: Settings, at: str = "") -> list[str]:
    """The settings of tables that another strategy or model drops, by their dotted names."""
    found: list[str] = []
    for name in below.keys() & above.keys():
        old, new = below[name], above[name]
        if isinstance(old, dict) and isinstance(new, dict):
            here = f"{at}{name}."
            lost = [f"{here}{each}" for each in old if each not in ("name", "provider", *new)]
            found += unused(old, new, here) if _alike(old, new) else lost
    return sorted(found)


def _toml(file: Path) -> dict[str, JsonValue]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"configuration {str(file)!r} does not exist: check the path given to --config") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"configuration {str(file)!r} is not a TOML file ({error})") from None
