"""The loop, its budgets, events and configuration."""
