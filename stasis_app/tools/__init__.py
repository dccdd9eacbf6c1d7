"""What the language model may do beside talking: only what its profile lists, checked here and not by the model."""
