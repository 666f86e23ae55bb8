"""Triton candidates without a GPU: cross-compiled for an architecture, run by Triton's interpreter.

Everything here runs inside a single-use candidate process, one process for each of the two ways:
`cross` must be imported without and `interpret` with TRITON_INTERPRET=1 in the environment, since
Triton reads it when it is imported.
"""
