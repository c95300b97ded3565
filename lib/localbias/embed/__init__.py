"""Words → vectors: models, embedding methods M1–M10, the vector cache."""
