"""Rewrites of expressions and programs that make less work."""
