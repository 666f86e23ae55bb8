"""Graph files: read whole, or refused with the reason and its cure."""

import json
import lzma
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from kernelwright.errors import UsageError
from kernelwright.knowledge.library import FOLDER
from kernelwright.records.base import first_fault
from kernelwright.records.technique import SCHEMA, TechniqueGraph

SHIPPED = FOLDER / "graph.json.xz"
"""The graph that comes with the package; `xz -dc` shows it."""


@cache
def shipped_graph() -> TechniqueGraph:
    """The graph that comes with the package.

    Raises:
        UsageError: the installation is damaged.
    """
    return read_graph(SHIPPED)


def graph_of(name: str) -> TechniqueGraph:
    """The graph in a file; the shipped one for an empty name.

    Raises:
        UsageError: as `read_graph`.
    """
    return read_graph(Path(name)) if name else shipped_graph()


def read_graph(file: Path) -> TechniqueGraph:
    """The graph in a file, which may be compressed (`.xz`).

    Raises:
        UsageError: it is not there, cut off, of another version, or says something that cannot be.
    """
    try:
        data = file.read_bytes()
        text = (lzma.decompress(data) if file.suffix == ".xz" else data).decode("utf-8")
    except (OSError, UnicodeDecodeError, lzma.LZMAError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"the graph {str(file)!r} cannot be read ({why}): check the path") from None
    try:
        table = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UsageError(
            f"the graph {str(file)!r} is no whole JSON ({error}): it was cut off or edited; restore it from a copy, or build "
            "it anew with `kernelwright graph build`"
        ) from None
    return _checked(table, file)


def _checked(table: object, file: Path) -> TechniqueGraph:
    version = table.get("version") if isinstance(table, dict) else None
    if isinstance(version, int) and version > SCHEMA:
        raise UsageError(
            f"the graph {str(file)!r} has the layout {version}, and this version reads up to {SCHEMA}: upgrade kernelwright"
        )
    try:
        return TechniqueGraph.model_validate_json(json.dumps(table))
    except ValidationError as error:
        where, fault = first_fault(error)
        raise UsageError(
            f"the graph {str(file)!r} cannot be taken ({where}: {fault}): `kernelwright graph check` lists what is "
            "wrong with a graph"
        ) from None


def graph_text(graph: TechniqueGraph) -> str:
    """The graph as its file has it: a line for each name and number, so that two versions can be compared."""
    table = graph.model_dump(mode="json", exclude_defaults=True)
    whole = {"format": graph.format, "version": graph.version, "nodes": list(graph.nodes), **table}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
