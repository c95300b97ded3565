"""Small made things for the FilBBQ tests: prompts, answer probabilities, tiny random models."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

from localbias.models.answers import Loaded

ORDERS = ["bcu", "ucb", "cub", "ubc", "cbu", "buc"]


def prompts(templates=2, pairs=2, category="gender_identity") -> pd.DataFrame:
    """A set of the form of FilBBQ's: template × pair × twin × polarity × context."""
    rows = []
    for t, pair, twin, polarity, condition in product(
        range(templates), range(pairs), (0, 1), ("neg", "nonneg"), ("ambig", "disambig")
    ):
        # the target group is "babae"; who did what in the disambiguated context follows the name order
        target_is_biased = polarity == "neg"
        order = ORDERS[(2 * pair + twin + t) % 6]
        # the option order of a block is fixed by group (t, o), so that roles flip with the polarity
        option = {
            "b": "babae" if target_is_biased else "lalaki",
            "c": "lalaki" if target_is_biased else "babae",
            "u": "di matukoy",
        }
        if not target_is_biased:
            order = order.translate(str.maketrans("bc", "cb"))
        role = {"b": "biased", "c": "counter", "u": "unknown"}
        first, second = ("babae", "lalaki") if twin == 0 else ("lalaki", "babae")
        answer = "unknown" if condition == "ambig" else ("biased" if twin == 0 else "counter")
        rows.append(
            {
                "prompt_id": len(rows),
                "category": category,
                "template": f"T{t}",
                "block": 2 * (pairs * t + pair) + twin,
                "pair": pairs * t + pair,
                "exchanged": bool(twin),
                "polarity": polarity,
                "condition": condition,
                "context": f"kuwento {t} : {first} at {second} sa lugar {pair} ."
                + (f" si {first} ang gumawa ng {polarity} ." if condition == "disambig" else ""),
                "question": f"sino ang {polarity} ?",
                **{f"ans{k}": option[o] for k, o in enumerate(order)},
                **{f"role{k}": role[o] for k, o in enumerate(order)},
                "label": [role[o] for o in order].index(answer),
                "order": order,
                "name1": first,
                "name2": second,
                "group1": first,
                "group2": second,
                "wording": "",
                "unknown": "di matukoy",
                "stereotyped_groups": "babae",
                "dataset": "made",
                "rules": "made",
                "seed": 0,
            }
        )
    return pd.DataFrame(rows)


def with_probabilities(table: pd.DataFrame, biased, counter, unknown) -> pd.DataFrame:
    """Probabilities by role for every row; what is left to 1 is the probability of no option."""
    by_role = {"biased": biased, "counter": counter, "unknown": unknown}
    out = table.assign(permutation="012")
    for k in range(3):
        out[f"p{k}"] = [np.broadcast_to(by_role[r], len(table))[i] for i, r in enumerate(table[f"role{k}"])]
    out["p_neither"] = 1 - out[["p0", "p1", "p2"]].sum(axis=1)
    return out


_TEXT = """kuwento at sa lugar . : ? , ang si sino gumawa ng neg nonneg babae lalaki di matukoy isang pinili o ito
mga titik Sagot : A B C A. B. C. A, B, (A) Basahin sagutin tanong Isang lamang isulat Kuwento: Tanong: Sagot:
0 1 2 3 4 5 6 7 8 9"""
WORDS = _TEXT.split()


def tokenizer(words=WORDS, masked=False) -> PreTrainedTokenizerFast:
    """A tokenizer whose tokens are space-separated words."""
    special = ["<pad>", "<s>", "</s>", "<unk>", *(["<mask>"] if masked else [])]
    vocabulary = {w: i for i, w in enumerate([*special, *dict.fromkeys(words)])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ends = "<s> $A </s>" if masked else "<s> $A"
    made.post_processor = processors.TemplateProcessing(
        single=ends, special_tokens=[(s, vocabulary[s]) for s in ("<s>", "</s>")]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>" if masked else None,
        model_max_length=256,
    )


def tiny(seed=0, words=WORDS, positions=256, name="tiny") -> Loaded:
    """A random two-layer Llama."""
    made = tokenizer(words)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(made),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=positions,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        initializer_range=0.3,
    )
    return Loaded(made, LlamaForCausalLM(config).eval(), name, f"seed {seed}")


def tiny_masked(seed=0) -> Loaded:
    """A random two-layer RoBERTa."""
    made = tokenizer(masked=True)
    torch.manual_seed(seed)
    config = RobertaConfig(
        vocab_size=len(made),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=300,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        initializer_range=0.3,
    )
    return Loaded(made, RobertaForMaskedLM(config).eval(), "tiny-masked")
