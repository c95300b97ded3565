"""Words → vectors: models, embedding methods M1–M10, protocols, the vector cache."""

from localbias.embed.encoder import Encoder
from localbias.embed.protocols import PROTOCOLS

__all__ = ["PROTOCOLS", "Encoder"]
