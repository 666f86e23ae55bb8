"""The only place that composes the stages: admit a task, evaluate a candidate."""
