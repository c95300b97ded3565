"""Local Biases: social bias in language models, measured across languages."""

__version__ = "0.1.0"
