"""Strategies, proposers and rewards compared on a directory of tasks under one budget."""
