"""Are our prompts the published ones? Every published block, generated anew from its own draws.

FilBBQ publishes its 2,624 sexual-orientation prompts. They hold random draws (word variants, the
wording of "unknown", the order of options) whose generator is not published, so they cannot be met by a
seed. Instead each published block's draws are read off it, checked to be draws that our rules allow, and
put through our generator: the result must equal the published lines, key by key.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pandas as pd
from scipy import stats

from localbias import sources
from localbias.errors import BadTable
from localbias.prompts.bbq import bbq_line, to_bbq
from localbias.prompts.generation import SHAPE, Draw, Filling, block_rows, fill, fillings, prompts_of, unknown_wordings
from localbias.prompts.templates import Template, read_templates, read_vocabulary

CATEGORY = "sexual_orientation"
PUBLISHED = "filbbq/data/FilBBQ_Sexual_orientation.jsonl"
RULES = "filbbq-2026"
KEYS = (
    "example_id",
    "question_index",
    "question_polarity",
    "context_condition",
    "category",
    "additional_metadata",
    "question",
)
"""What chance does not touch: these must agree in every line, in order."""


def compare_with_published(path: str | Path | None = None) -> pd.DataFrame:
    """How far our generator gives FilBBQ's published sexual-orientation prompts.

    Parameters
    ----------
    path : path, optional
        A file in the published layout; the pinned published one when not given.

    Returns
    -------
    pandas.DataFrame
        One row a check: check, compared, equal, exact (all equal), detail (the first difference, or a
        p-value). Chance-free keys line by line and in order; prompts per template; blocks whose four
        lines come out of our generator when it is given the block's own draws; draws that our rules
        allow; word variants shared by the two blocks of a pair; and whether the published draws look
        uniform (chi-squared tests; ``equal`` is then the number of different values seen).

    Raises
    ------
    SourceUnavailable
        When the published files cannot be had.
    """
    lines, templates = published_lines(path), _templates()
    ours = to_bbq(prompts_of(list(templates.values()), read_vocabulary("filbbq"), 0, RULES))
    draws = published_draws(path)
    rows = [_check("prompts", [len(lines)], [len(ours)])]
    rows += [_check(key, [line[key] for line in lines], [line[key] for line in ours]) for key in KEYS]
    rows.append(_check_counts(lines, ours))
    rows.append(_tally("blocks generated anew, line by line", draws["reproduced"], draws))
    rows.append(_tally("draws that our rules allow", draws["allowed"], draws))
    rows.append(_tally("word variants shared within the pair", _shared_words(draws), draws))
    rows += [
        _uniform(draws["order"], 6, "option order"),
        _uniform(draws["unknown"], len(unknown_wordings(RULES)), "wording of unknown"),
    ]
    return pd.DataFrame(rows, columns=["check", "compared", "equal", "exact", "detail"])


def published_draws(path: str | Path | None = None) -> pd.DataFrame:
    """The draws of every published block, read off it, and whether they give the block back.

    Returns
    -------
    pandas.DataFrame
        One row a block: block, template, name1, name2, words, unknown, order (0 the negative question's
        answer, 1 the non-negative question's, 2 unknown; "" where no draw fits), allowed, reproduced.
    """
    lines, templates, vocabulary = published_lines(path), _templates(), read_vocabulary("filbbq")
    plan = [(t, filling) for t in templates.values() for filling in fillings(t, vocabulary, 0, RULES)]
    rows = []
    for block in range(len(lines) // 4):
        four = lines[4 * block : 4 * block + 4]
        known = block < len(plan)
        draw = read_draw(four, *plan[block]) if known else None
        template, filling = plan[block] if known else (None, Filling("", "", "", ""))
        rows.append(
            {
                "block": block,
                "template": four[0]["question_index"],
                "name1": filling.name1,
                "name2": filling.name2,
                "words": "; ".join(f"{slot}={word}" for slot, word in draw.words.items()) if draw else "",
                "unknown": draw.unknown if draw else "",
                "order": "".join(map(str, draw.order)) if draw else "",
                "allowed": draw is not None and draw.unknown in unknown_wordings(RULES),
                "reproduced": draw is not None and _anew(template, filling, draw, block) == four,
            }
        )
    return pd.DataFrame(rows)


def read_draw(four: list[dict], template: Template, filling: Filling) -> Draw | None:
    """The draw behind a published block of a template and filling; None when none fits.

    Word variants are tried in every combination that the template lists; the order follows from where
    the two answers stand, and what is left is the wording of "unknown".
    """
    for words in product(*template.words.values()):
        draw = Draw(dict(zip(template.words, words, strict=True)), "", (0, 1, 2))
        text = {
            field: fill(getattr(template, field), filling, draw)
            for field in ("ambiguous", "disambiguating", "answer_neg", "answer_nonneg")
        }
        context = f"{text['ambiguous'].strip()} {text['disambiguating']}".strip()
        options = [four[0][f"ans{i}"] for i in range(3)]
        people = [text["answer_neg"], text["answer_nonneg"]]
        if four[1]["context"] == context and all(options.count(answer) == 1 for answer in people):
            order = tuple(people.index(option) if option in people else 2 for option in options)
            return Draw(draw.words, options[order.index(2)], order)
    return None


def published_lines(path: str | Path | None = None) -> list[dict]:
    """The published prompts as they are: one dictionary a line.

    Raises
    ------
    BadTable
        When the lines do not come in blocks of four.
    """
    file = Path(path) if path else sources.fetch(PUBLISHED)
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    shapes = [(line.get("question_polarity"), line.get("context_condition")) for line in lines]
    if not lines or shapes != list(SHAPE) * (len(lines) // 4):
        raise BadTable(
            "the prompts are not in blocks of four", where=file.name, expected=str(SHAPE), got=str(shapes[:4])
        )
    return lines


def _templates() -> dict[int, Template]:
    return {template.row: template for template in read_templates(CATEGORY, "filbbq")}


def _anew(template: Template, filling: Filling, draw: Draw, block: int) -> list[dict]:
    return [bbq_line(row) for row in block_rows(template, filling, draw, block, block, 0, RULES)]


def _check(name: str, published: list, ours: list) -> dict:
    pairs = list(zip(published, ours, strict=False))
    equal = sum(one == other for one, other in pairs)
    differ = next((f"published {one!r}, ours {other!r}" for one, other in pairs if one != other), "")
    compared = max(len(published), len(ours))
    return {"check": name, "compared": compared, "equal": equal, "exact": equal == compared, "detail": differ[:200]}


def _check_counts(lines: list[dict], ours: list[dict]) -> dict:
    counts = [pd.Series([line["question_index"] for line in some]).value_counts(sort=False) for some in (lines, ours)]
    return _check("prompts per template", list(counts[0].items()), list(counts[1].items()))


def _tally(name: str, good: pd.Series, draws: pd.DataFrame) -> dict:
    first = draws[~good.to_numpy(dtype=bool)].head(1)
    detail = "" if first.empty else f"block {first['block'].iloc[0]}, template {first['template'].iloc[0]}"
    return {"check": name, "compared": len(good), "equal": int(good.sum()), "exact": bool(good.all()), "detail": detail}


def _shared_words(draws: pd.DataFrame) -> pd.Series:
    pair = [" ".join((row.template, *sorted((row.name1, row.name2)))) for row in draws.itertuples()]
    return draws.groupby(pair)["words"].transform("nunique") == 1


def _uniform(values: pd.Series, possible: int, name: str) -> dict:
    seen = values.value_counts()
    observed = [*seen, *[0] * (possible - len(seen))]
    return {
        "check": f"{name} drawn evenly",
        "compared": possible,
        "equal": len(seen),
        "exact": len(seen) == possible,
        "detail": f"chi-squared p = {stats.chisquare(observed).pvalue:.3f} over {len(values)} blocks",
    }
