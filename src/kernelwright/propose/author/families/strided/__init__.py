"""Kernels over any axes: pointwise with positions of any kind, reductions, norms, windows."""
