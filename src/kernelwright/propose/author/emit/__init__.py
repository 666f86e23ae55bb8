"""Expressions and kernels as text."""
