"""Proposer `inductor`: what `torch.compile` writes for a task, made into a candidate that stands alone."""
