"""The children that serve a compiler or a profiler."""
