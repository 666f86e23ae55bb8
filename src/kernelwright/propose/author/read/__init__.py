"""A task's graph as expressions: one rule for each of ATen's operations."""
