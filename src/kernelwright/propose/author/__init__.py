"""The built-in author: kernels from the OpGraph alone, as plan, schedule, source. No model, no network."""
