"""What of the graph of techniques is of use in one run: its task, its device, and who writes."""

import networkx as nx

from kernelwright.engine.config import RunConfig
from kernelwright.errors import ProposeError, StoreError
from kernelwright.knowledge.graph.file import graph_of
from kernelwright.knowledge.graph.stats import expected_gains
from kernelwright.languages import names_for
from kernelwright.nests.rewritings import WRITTEN, hindrance
from kernelwright.propose.graph_writer import MASTERED
from kernelwright.records.run import Environment
from kernelwright.records.task import Task
from kernelwright.records.technique import GraphScope, TechniqueGraph, code_id


def graph_id(config: RunConfig) -> str:
    """The graph that the run's strategy walks, by its content; empty where it walks none.

    Raises:
        UsageError: the graph's file cannot be taken.
    """
    file = config.strategy.graph_file()
    return "" if file is None else graph_of(file).id


def scope_of(task: Task, here: Environment, config: RunConfig) -> GraphScope | None:
    """The scope of a run; None where its strategy walks no graph.

    Raises:
        UsageError: the graph's file cannot be taken.
        StoreError: it is not the graph that the run began with.
    """
    file = config.strategy.graph_file()
    if file is None:
        return None
    graph = graph_of(file)
    if config.graph_id and graph.id != config.graph_id:
        raise StoreError(
            f"the graph {file or 'of the package'} has changed since the run began ({config.graph_id} then, {graph.id} now): "
            "put the old one back, or start a new run"
        )
    return _scope(task, here, config, graph)


def must_lead_somewhere(task: Task, here: Environment, config: RunConfig) -> None:
    """Return unless the run walks a graph without a model from serial code that no step leads on from.

    Raises:
        ProposeError: it does; the message says what hinders.
    """
    scope = scope_of(task, here, config)
    if scope is None or scope.writer != "examples" or scope.spec is None or _reached(scope.graph, task, scope.language):
        return
    if why := hindrance(scope.root, scope.spec, scope.kind):
        raise ProposeError(
            f"no loop of {scope.spec.function} can be proved parallel and written for {scope.kind}: {why}"
        )


def with_language(task: Task, here: Environment, config: RunConfig) -> RunConfig:
    """The configuration, in which a model writes what the graph's steps for the task are written in, unless somebody named it.

    Raises:
        UsageError: the graph's file cannot be taken.
        StoreError: it is not the graph that the run began with.
    """
    scope = scope_of(task, here, config)
    if config.language is not None or scope is None or scope.writer != "model":
        return config
    return config.model_copy(update={"language": scope.language})


def _scope(task: Task, here: Environment, config: RunConfig, graph: TechniqueGraph) -> GraphScope:
    languages = (config.language,) if config.language else names_for(task.target.kind)
    counted = {name: _reached(graph, task, name) for name in languages}
    usual = WRITTEN.get(task.target.kind) if task.source.serial else None
    language = max(languages, key=lambda name: (name == usual, counted[name]))
    by_model, begun = config.proposer.startswith("llm"), counted[language] > 0 or bool(task.source.serial)
    return GraphScope(
        graph=graph,
        root=task.source.origin if begun else "",
        kind=task.target.kind,
        language=language,
        family=task.graph.family,
        device=here.device.name if task.target.present else "",
        sizes=task.source.sizes,
        spec=task.source.spec,
        writer="model" if by_model else "examples" if begun else "author",
        authored=tuple(MASTERED.get(language, ())),
        gains=expected_gains(graph, here.device.name, language) if task.target.present else {},
    )


def _reached(graph: TechniqueGraph, task: Task, language: str) -> int:
    """How many codes for the task's device its own code becomes by the graph's steps."""
    steps = (step for edge in graph.edges for step in (*edge.examples, *edge.counter))
    meant = (step for step in steps if (step.kind, step.language) == (task.target.kind, language))
    made = nx.DiGraph((step.before, step.after) for step in meant)
    origin = code_id(task.source.origin)
    return len(nx.descendants(made, origin)) if origin in made else 0
