"""FilBBQ: Filipino question answering about people, whose answers show bias."""

from localbias.filbbq.audit import audit_counts, audit_rules, audit_templates
from localbias.filbbq.bbq import read_bbq, write_bbq
from localbias.filbbq.inventory import describe_sample, invariants, prompts_per_template, sample, table2
from localbias.filbbq.prompts import generate_prompts
from localbias.filbbq.repairs import repairs
from localbias.filbbq.reproduce import compare_with_published, published_draws
from localbias.filbbq.templates import read_templates, read_vocabulary, template_table

__all__ = [
    "audit_counts", "audit_rules", "audit_templates", "compare_with_published", "describe_sample", "generate_prompts",
    "invariants", "prompts_per_template", "published_draws", "read_bbq", "read_templates", "read_vocabulary",
    "repairs", "sample", "table2", "template_table", "write_bbq",
]
