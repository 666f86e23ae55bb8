"""`load_inline` on a fast path: what a Python candidate builds for itself, in its own process, without a lock."""
