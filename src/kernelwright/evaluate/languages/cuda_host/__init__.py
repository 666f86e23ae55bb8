"""CUDA C++ with a host function of its own."""
