"""CUDA C++ with a launch plan."""
