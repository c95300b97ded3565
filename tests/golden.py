"""Hashes of every results table of a built book, so that a change of the code that should change no number shows it.

    make book PROFILE=smoke
    python tests/golden.py check smoke     # names the tables that differ from tests/golden/smoke.csv
    python tests/golden.py write smoke     # after a change that is meant, with its reason in the commit

Not a test: numbers depend on the machine's arithmetic in their last digits.
"""

import csv
import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def hashes() -> dict[tuple[str, str], str]:
    """(page, table) → sha256 of the CSV, for the book in data/results."""
    tables = sorted((ROOT / "data/results").glob("[0-9][0-9]-*/*.csv"))
    return {(table.parent.name, table.stem): hashlib.sha256(table.read_bytes()).hexdigest() for table in tables}


def main(action: str, profile: str) -> int:
    path, now = ROOT / "tests/golden" / f"{profile}.csv", hashes()
    if action == "write":
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([("page", "table", "sha256"), *((*key, value) for key, value in now.items())])
        print(f"{path.name}: {len(now)} tables")
        return 0
    with open(path, newline="", encoding="utf-8") as file:
        kept = {(row["page"], row["table"]): row["sha256"] for row in csv.DictReader(file)}
    differ = sorted(key for key in kept.keys() | now.keys() if kept.get(key) != now.get(key))
    print("\n".join("/".join(key) for key in differ) or f"{len(now)} tables are the same")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
