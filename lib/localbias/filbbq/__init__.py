"""FilBBQ: Filipino question answering about people, whose answers show bias."""

from localbias.filbbq.prompts import generate_prompts
from localbias.filbbq.templates import read_templates, read_vocabulary, template_table

__all__ = ["generate_prompts", "read_templates", "read_vocabulary", "template_table"]
