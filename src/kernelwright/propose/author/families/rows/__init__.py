"""Rows of dense data, reduced along the last axis or not at all."""
