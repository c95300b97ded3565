"""A name → word vectors (M1–M10) or answer probabilities; the backends behind one small interface."""
