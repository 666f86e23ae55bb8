"""The engine: TRL's trainers over the environment. The one place that imports torch, transformers and TRL."""
