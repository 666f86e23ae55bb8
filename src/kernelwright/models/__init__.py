"""Chat models: endpoints, local checkpoints and recordings behind one protocol."""
