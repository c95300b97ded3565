"""What exists: languages, tests, methods and models. Constants, no input or output."""

from localbias.registry.languages import INDIAN_LANGUAGES, LANGUAGES, WEATHUB_24, Language, language
from localbias.registry.methods import METHODS, Method, method
from localbias.registry.models import MODELS, Model, monolingual_models
from localbias.registry.tests import DIMENSION_TESTS, INDIA_TESTS, ORIGINAL_TESTS, TESTS, WeatTest, weat_test_spec

__all__ = [
    "DIMENSION_TESTS",
    "INDIAN_LANGUAGES",
    "INDIA_TESTS",
    "LANGUAGES",
    "METHODS",
    "MODELS",
    "ORIGINAL_TESTS",
    "TESTS",
    "WEATHUB_24",
    "Language",
    "Method",
    "Model",
    "WeatTest",
    "language",
    "method",
    "monolingual_models",
    "weat_test_spec",
]
