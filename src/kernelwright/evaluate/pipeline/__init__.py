"""The only place that composes the stages: admit a task, judge a candidate."""
