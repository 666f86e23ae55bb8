"""Public fakes: a scripted proposer and a scripted evaluator."""
