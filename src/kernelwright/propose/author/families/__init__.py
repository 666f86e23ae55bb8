"""Families of kernels: a folder each, and a row each in `table`."""
