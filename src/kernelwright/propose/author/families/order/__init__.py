"""Sorted rows, and the first places of them."""
