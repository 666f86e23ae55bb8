"""Proposers: expansions into source text, listed in `propose.table`."""
