"""Runs whose kernels come from outside: a workbench, its mailbox, its task in words."""
