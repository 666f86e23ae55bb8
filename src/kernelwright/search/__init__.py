"""Strategies: where to look next, one file each, listed in `search.table`."""
