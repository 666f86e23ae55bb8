"""What the drill shows of itself: its name on every reply, and its label on every kernel.

Refuses to know prompts, kernels and faults.
"""

VERSION = 1
MODEL = f"drill-{VERSION}"
"""The model's name and the replies' fingerprint: whatever has it is a drill, never a model's result."""
LABEL = "A drill: written by the built-in author behind a test server, not by a language model."
"""Stands in every kernel and in every reply that has room for it."""
