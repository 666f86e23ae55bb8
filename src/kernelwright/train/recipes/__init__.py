"""Pipelines of stages, each in a TOML file here, and what the stages do beside training itself."""
