"""Verified pairs of module and kernel: where they come from, how they are kept, split and described."""
