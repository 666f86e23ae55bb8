"""Kernelwright writes, proves and speeds up GPU kernels in a closed loop with measured feedback."""

__version__ = "0.1.0"
