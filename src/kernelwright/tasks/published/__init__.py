"""Readers of kernels as people publish them: each form becomes a list of `PublishedKernel`. Nothing is run."""
