"""Proposers: proposal requests into source text, listed in `propose.table`."""
