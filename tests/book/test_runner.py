"""The runner: parameters, failures, publication. Small made notebooks; what is right is known by hand."""

import json
import shutil
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from localbias.book import parameters, profiles
from localbias.book.cli import app
from localbias.book.execute import run_notebook
from localbias.book.publish import publish
from localbias.errors import BadTable, BadValues, NotebookFailed, UnknownName

PARAMETERS = (
    'languages: list[str] | str = "all"  # codes, or "all"\n'
    "level: float = 0.95  # of the interval\n"
    "clean: bool = False  # remove duplicates\n"
    "n: int = 3  # how many"
)
WRITES = (
    "import os, pathlib\n"
    "folder = pathlib.Path(os.environ['LOCALBIAS_RESULTS'])\n"
    "folder.mkdir(parents=True, exist_ok=True)\n"
    "_ = (folder / 'made.csv').write_text(f'n\\n{n}\\n')\n"
    "print(n)"
)


def notebook(path, *sources, tagged=1):
    """A made notebook: `tagged` parameter cells, then the given code."""
    cells = [nbformat.v4.new_markdown_cell("# Made", id="cell-0")]
    for i in range(tagged):
        cells.append(nbformat.v4.new_code_cell(PARAMETERS, id=f"p-{i}", metadata={"tags": ["parameters"]}))
    cells += [nbformat.v4.new_code_cell(source, id=f"c-{i}") for i, source in enumerate(sources)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    node = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(node))
    return path


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A folder with two notebooks (the second one breaks) and one profile."""
    monkeypatch.setenv("LOCALBIAS_ROOT", str(tmp_path))
    (tmp_path / "_config.yml").write_text("title: made\n")
    notebook(tmp_path / "notebooks/01-good.ipynb", WRITES)
    notebook(tmp_path / "notebooks/02-broken.ipynb", "x = 1", "raise ValueError('no such word: ' + 'kazoo')")
    folder = tmp_path / "notebooks/profiles"
    folder.mkdir()
    (folder / "quick.yml").write_text("common: {level: 0.9}\nnotebooks:\n  01-good: {n: 5}\n")
    return tmp_path


def test_declared_parameters_carry_type_default_and_comment(book):
    found = parameters.declared(book / "notebooks/01-good.ipynb")
    assert [(p.name, p.hint, p.default, p.help) for p in found.values()] == [
        ("languages", "list[str] | str", "all", 'codes, or "all"'),
        ("level", "float", 0.95, "of the interval"),
        ("clean", "bool", False, "remove duplicates"),
        ("n", "int", 3, "how many"),
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('languages=["zh","th"]', ["zh", "th"]),
        ("languages=zh", "zh"),
        ("languages=no", "no"),
        ("clean=true", True),
        ("n=7", 7),
        ("level=0.5", 0.5),
    ],
)
def test_text_becomes_the_declared_type(book, text, value):
    assert list(parameters.from_text(book / "notebooks/01-good.ipynb", [text]).values()) == [value]


@pytest.mark.parametrize("text", ["clean=no", "clean=1", "n=many", "n=1.5", "level=high", "languages=[1, 2]x[", "n"])
def test_a_value_of_another_type_is_refused(book, text):
    with pytest.raises(BadValues):
        parameters.from_text(book / "notebooks/01-good.ipynb", [text])


def test_an_unknown_parameter_is_refused_and_the_nearest_offered(book):
    with pytest.raises(UnknownName, match="did you mean languages"):
        parameters.from_text(book / "notebooks/01-good.ipynb", ["langauges=zh"])


@pytest.mark.parametrize("tagged", [0, 2])
def test_exactly_one_parameters_cell(tmp_path, tagged):
    with pytest.raises(BadTable, match="exactly one"):
        parameters.declared(notebook(tmp_path / "01-x.ipynb", tagged=tagged))


def test_profile_joins_common_and_own_values(book):
    path = book / "notebooks/01-good.ipynb"
    assert profiles.profile_parameters("quick", path) == {"level": 0.9, "n": 5}
    with pytest.raises(UnknownName, match="unknown profile"):
        profiles.profile_parameters("quickk", path)
    (book / "notebooks/profiles/quick.yml").write_text("notebooks: {01-good: {m: 5}}\n")
    with pytest.raises(UnknownName, match="profile quick"):
        profiles.profile_parameters("quick", path)


def test_notebooks_are_found_by_number_or_stem(book):
    assert profiles.find_notebook("1").name == profiles.find_notebook("01-good.ipynb").name == "01-good.ipynb"
    with pytest.raises(UnknownName, match="01-good"):
        profiles.find_notebook("01-god")


def test_a_failure_names_notebook_cell_and_error_and_publishes_nothing(book):
    with pytest.raises(NotebookFailed) as caught, run_notebook(book / "notebooks/02-broken.ipynb", {}) as run:
        publish(run, "quick", {})
    text = str(caught.value)
    assert "02-broken stopped at cell 3" in text  # text, parameters, x = 1, then the one that raises
    assert "ValueError: no such word: kazoo" in text and "raise ValueError" in text
    assert not (book / "book").exists() and not list((book / "data/results").iterdir())


def test_a_killed_kernel_is_a_failure(book):
    path = notebook(book / "notebooks/03-killed.ipynb", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(NotebookFailed, match="kernel of 03-killed died"), run_notebook(path, {}):
        pass


def test_two_equal_runs_give_equal_bytes_and_stale_tables_go(book):
    path = book / "notebooks/01-good.ipynb"
    contents = []
    for _ in range(2):
        with run_notebook(path, {"n": 5}) as run:
            page = publish(run, "quick", {"n": 5})
        contents.append((page.read_bytes(), (page.parent / "manifest.json").read_bytes()))
    assert contents[0] == contents[1]
    assert (book / "data/results/01-good/made.csv").read_text() == "n\n5\n"
    notebook(path, "print('no table now')")
    with run_notebook(path, {}) as run:
        publish(run, "quick", {})
    assert not (book / "data/results/01-good/made.csv").exists()


def test_the_page_says_how_it_was_made(book):
    with run_notebook(book / "notebooks/01-good.ipynb", {"n": 5}) as run:
        page = nbformat.read(publish(run, "quick", {"n": 5}), as_version=4)
    assert "localbias run 01-good --profile quick -p n=5" in page.cells[-1].source
    assert page.metadata.localbias.parameters == {"languages": "all", "level": 0.95, "clean": False, "n": 5}
    tags = [c.metadata.get("tags", []) for c in page.cells if c.cell_type == "code"]
    assert "remove-cell" in tags[0] and "hide-input" in tags[1]
    assert "papermill" not in json.dumps(page)


def test_command_line_runs_the_rest_and_fails_at_the_end(book, monkeypatch):
    monkeypatch.chdir(book)
    result = CliRunner().invoke(app, ["run", "02", "01"])
    assert result.exit_code == 1
    assert "01-good: page and tables are in the book" in result.output
    assert "ValueError: no such word: kazoo" in result.output and "02-broken" in result.output


@pytest.mark.parametrize("args", [["run", "9"], ["run", "01", "-p", "m=1"], ["run", "01", "--profile", "papper"]])
def test_command_line_refuses_unknown_names(book, args):
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 1 and "UnknownName" in result.output and "Traceback" not in result.output


@pytest.mark.book
def test_snakemake_keeps_the_last_good_page_and_goes_on(book, monkeypatch):
    """A page that has been good stays when its notebook breaks; the others run; the exit status is not 0."""
    from localbias.book.workflow import snakemake
    from localbias.files import project_root

    project = Path(__file__).resolve().parents[2]
    shutil.copy(project / "Snakefile", book)
    (book / "data").mkdir()
    shutil.copy(project / "data/sources.yml", book / "data")
    monkeypatch.setenv("LOCALBIAS_OFFLINE", "1")
    assert project_root() == book
    (book / "data/lexicons").mkdir()
    (book / "data/lexicons/my{list}.csv").write_text("no wildcard\n")
    notebook(book / "notebooks/02-broken.ipynb", "print('still good')")
    assert snakemake(["pages"], "quick", 2, "stage=pages") == 0
    before = (book / "data/results/02-broken/page.ipynb").read_bytes()
    shutil.rmtree(book / "data/results/01-good")
    notebook(book / "notebooks/02-broken.ipynb", "1 / 0")
    assert snakemake(["pages"], "quick", 2, "stage=pages") != 0
    assert (book / "data/results/02-broken/page.ipynb").read_bytes() == before
    assert (book / "data/results/01-good/page.ipynb").exists()


def test_a_notebook_knows_where_the_person_stands(book, monkeypatch):
    """It runs in its own folder; a path given with -p is relative to the folder of the command."""
    (book / "here").mkdir()
    monkeypatch.chdir(book / "here")
    source = "import os\nfrom localbias.files import given_path\nprint(given_path('mymodels/llama'), os.getcwd())"
    path = notebook(book / "notebooks/03-path.ipynb", source)
    with run_notebook(path, {}, progress=False) as run:
        outputs = [o for c in run.executed.cells for o in c.get("outputs", []) if o.get("name") == "stdout"]
    said = "".join(o["text"] for o in outputs)
    assert said.split() == [str(book / "here/mymodels/llama"), str(book / "notebooks")]
