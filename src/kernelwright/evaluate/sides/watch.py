"""The reference's inner values: what named nodes of its exported graph compute. Runs inside the reference's process.

A comparator that asks which values an output of positions picks must know those values; where they are no input of the
task, they are found here.
"""

from collections.abc import Sequence

import torch


class Watch:
    """An exported module that gives back what its nodes of these names compute, in this order."""

    def __init__(self, module: torch.nn.Module, nodes: Sequence[str]) -> None:
        self._module, self._nodes = module, tuple(nodes)

    def results(self, *arguments: object) -> tuple[torch.Tensor, ...]:
        """Run once.

        Raises:
            KeyError: there is no such node.
        """
        watching = _Watching(self._module, self._nodes)
        watching.run(*arguments)
        return tuple(watching.seen[name] for name in self._nodes)


class _Watching(torch.fx.Interpreter):  # type: ignore[misc]
    def __init__(self, module: torch.nn.Module, nodes: tuple[str, ...]) -> None:
        super().__init__(module)
        self.nodes = frozenset(nodes)
        self.seen: dict[str, torch.Tensor] = {}

    def run_node(self, n: torch.fx.Node) -> object:
        """As the interpreter does, keeping what was asked for."""
        if "_assert_tensor_metadata" in str(n.target):
            # It asserts the dtype of the exported run, and this one may be in double precision.
            return None
        result: object = super().run_node(n)
        if n.name in self.nodes and isinstance(result, torch.Tensor):
            self.seen[n.name] = result
        return result
