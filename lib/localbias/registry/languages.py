"""The 25 languages of WEATHub (24 and English): code, names, script, direction (paper, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

from localbias.errors import unknown


@dataclass(frozen=True)
class Language:
    """One language; ``stem`` is the file-name stem its annotators used for its workbooks."""

    code: str
    name: str
    own_name: str
    script: str  # ISO 15924
    stem: str
    direction: str = "ltr"


LANGUAGES: dict[str, Language] = {
    lang.code: lang
    for lang in (
        Language("ar", "Arabic", "العربية", "Arab", "arabic", "rtl"),
        Language("bn", "Bengali", "বাংলা", "Beng", "bengali"),
        Language("ckb", "Sorani Kurdish", "کوردیی ناوەندی", "Arab", "kurdish", "rtl"),
        Language("da", "Danish", "Dansk", "Latn", "danish"),
        Language("de", "German", "Deutsch", "Latn", "german"),
        Language("el", "Greek", "Ελληνικά", "Grek", "greek"),
        Language("en", "English", "English", "Latn", "english"),
        Language("es", "Spanish", "Español", "Latn", "spanish"),
        Language("fa", "Persian", "فارسی", "Arab", "persian", "rtl"),
        Language("fr", "French", "Français", "Latn", "french"),
        Language("hi", "Hindi", "हिन्दी", "Deva", "hindi"),
        Language("it", "Italian", "Italiano", "Latn", "italian"),
        Language("ja", "Japanese", "日本語", "Jpan", "japanese"),
        Language("ko", "Korean", "한국어", "Kore", "korean"),
        Language("ku", "Kurmanji Kurdish", "Kurmancî", "Latn", "kurmanji"),
        Language("mr", "Marathi", "मराठी", "Deva", "marathi"),
        Language("pa", "Punjabi", "ਪੰਜਾਬੀ", "Guru", "punjabi"),
        Language("ru", "Russian", "Русский", "Cyrl", "russian"),
        Language("te", "Telugu", "తెలుగు", "Telu", "telugu"),
        Language("th", "Thai", "ไทย", "Thai", "thai"),
        Language("tl", "Tagalog", "Tagalog", "Latn", "filipino"),
        Language("tr", "Turkish", "Türkçe", "Latn", "turkish"),
        Language("ur", "Urdu", "اردو", "Arab", "urdu", "rtl"),
        Language("vi", "Vietnamese", "Tiếng Việt", "Latn", "vietnamese"),
        Language("zh", "Chinese", "中文", "Hans", "chinese"),
    )
}

WEATHUB_24 = tuple(code for code in LANGUAGES if code != "en")
"""The paper's 24 languages; English is their source."""

INDIAN_LANGUAGES = ("en", "hi", "bn", "mr", "pa", "te", "ur")
"""The languages of the India tests (paper, section 4.4)."""


def language(code: str) -> Language:
    """The language of a code.

    Raises
    ------
    UnknownName
        When the code is not one of the 25.

    Examples
    --------
    >>> language("zh").name, language("ur").direction
    ('Chinese', 'rtl')
    """
    if code not in LANGUAGES:
        raise unknown("language", code, LANGUAGES)
    return LANGUAGES[code]
