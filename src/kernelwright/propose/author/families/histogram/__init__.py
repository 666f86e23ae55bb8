"""Counts of elements by the bin that they belong to."""
