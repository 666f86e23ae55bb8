"""An NVIDIA GPU that is here."""
