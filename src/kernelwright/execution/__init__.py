"""Where jobs run: submit bytes, get a future. Knows nothing of kernels."""
