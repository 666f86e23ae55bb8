"""Techniques that make kernels faster: one folder a card below `cards`, and what each gained where it was measured."""
