"""Templates and BBQ files → prompts, and what a model is shown."""
