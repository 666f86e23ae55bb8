"""Triton."""
