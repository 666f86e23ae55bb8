"""Doors to `api`: the command line first."""
