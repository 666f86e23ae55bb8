"""Rewrites of expressions that a compiler does not make: one file a rule, and the table of them."""
