"""The notebooks of this folder, one per role, made and executed without a notebook server.

    python examples/notebooks.py [--out FOLDER]

A cell shows what it prints and what its last line is worth: as HTML or a picture where the object
offers that (`_repr_html_`, `_repr_png_`), as text otherwise.
"""

import argparse
import ast
import base64
import contextlib
import io
import json
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

CUSTODIAN = (
    (
        "# The custodian: from a file to a published page\n\nA made-up registry of the demo stands in "
        "for the confidential one. Nothing here but the release and its page may leave the building."
    ),
    (
        "from pathlib import Path\n\nimport discreet as ds\nfrom discreet.cli import demonstration as demo\n\n"
        "demo.write_registry(Path())"
    ),
    "Does the file suit the schema? Exact counts, for your eyes only.",
    'ds.check("registry.csv", "schema.toml")',
    "What would privacy cost? From public facts alone.",
    (
        'plan = ds.plan(\n    "schema.toml", persons=20_000, events=demo.DEATHS, epsilon=(0.5, 1, 2), '
        'link="cloglog"\n)\nplan'
    ),
    "plan.plot()",
    "A budget for everything that will ever be released about these people.",
    (
        'ledger = ds.Ledger("budget.db")\nledger.initialise("patients of the demo", epsilon=4, '
        "delta=1e-6);"
    ),
    "One release. The charge is made before the records are used, and is never refunded.",
    (
        'model = ds.SurvivalRegression("schema.toml", link="cloglog")\nmodel.publish(\n'
        '    "registry.csv",\n    mechanism=ds.PrivateNewton(epsilon=1),\n    ledger=ledger,\n'
        '    path="release.json",\n)'
    ),
    "Is it what it claims to be? Then make its page.",
    'print("sound:", model.audit().sound)\nmodel.page("page.html")\nledger.show().more',
)

ANALYST = (
    (
        "# The analyst: reading a release\n\nAll that is needed is `release.json`; the registry stays "
        "where it is."
    ),
    'import pandas as pd\n\nimport discreet as ds\n\nrelease = ds.load("release.json")\nrelease',
    "Standard errors and intervals include the privacy noise.",
    "release.summary().to_pandas().round(3)",
    "Two patients, with intervals.",
    (
        'patients = pd.DataFrame(\n    {"name": ["Anna", "Bo"], "age": [55, 70], "sex": ["F", "M"], '
        '"stage": ["I", "III"]}\n)\nrelease.predict_survival(patients, [365, 1826], interval=True, '
        "frame=True).round(3)"
    ),
    "How long do they live within five years, and how much longer does the one live?",
    "release.predict_rmst(patients, interval=True, frame=True).round(0)",
    (
        'gap = release.predict_difference(patients[:1], patients[1:], of="rmst")\n'
        'print(f"{gap.estimate[0]:.0f} days ({gap.lower[0]:.0f} to {gap.upper[0]:.0f})")'
    ),
    "release.plot(patients)",
)


def main() -> None:
    """Execute both in one folder, the analyst after the custodian."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to")
    out = parser.parse_args().out.absolute()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, cells in {"custodian": CUSTODIAN, "analyst": ANALYST}.items():
            text = json.dumps(notebook(cells), indent=1) + "\n"
            (out / f"{name}.ipynb").write_text(text)


def notebook(cells: Sequence[str]) -> dict[str, Any]:
    """The document; the first cell and those before code are words."""
    scope: dict[str, Any] = {}
    made = [_code(text, scope) if is_code(text) else _words(text) for text in cells]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for number, cell in enumerate(made):
        cell["id"] = f"cell-{number}"
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def is_code(text: str) -> bool:
    """Whether a cell is Python; prose does not parse."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return not text.startswith("#")


def _words(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _code(text: str, scope: dict[str, Any]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": list(_outputs(text, scope)),
        "source": text,
    }


def _outputs(text: str, scope: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Run the cell; what it prints, then what its last line is worth."""
    body = ast.parse(text).body
    last = body.pop() if isinstance(body[-1], ast.Expr) and not text.endswith(";") else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(ast.Module(body, []), "cell", "exec"), scope)  # noqa: S102 - our own cells
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), scope)  # noqa: S307
    if printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": printed.getvalue()}
    if value is not None:
        yield {
            "output_type": "execute_result",
            "execution_count": None,
            "metadata": {},
            "data": _shown(value),
        }


def _shown(value: object) -> dict[str, str]:
    data = {"text/plain": repr(value)}
    for kind, name in {"text/html": "_repr_html_", "image/png": "_repr_png_"}.items():
        rule = getattr(value, name, None)
        made = rule() if callable(rule) else None
        if made is not None:
            data[kind] = base64.b64encode(made).decode() if isinstance(made, bytes) else made
    return data


if __name__ == "__main__":
    main()
