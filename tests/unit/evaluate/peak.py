"""How large a tensor an operation makes at most: a stand-in for a device's memory, which inputs may all but fill."""

from torch.utils._python_dispatch import TorchDispatchMode


class LargestMade(TorchDispatchMode):
    """`elements` of the largest tensor that was made meanwhile; views and what was written to are not made."""

    def __init__(self):
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        returns = func._schema.returns
        for result, told in zip(found if isinstance(found, tuple | list) else (found,), returns, strict=False):
            if hasattr(result, "numel") and told.alias_info is None:
                self.elements = max(self.elements, result.numel())
        return found
