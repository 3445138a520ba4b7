"""The house: what is public, what imports what, what the files promise."""

import ast
import json
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import discreet
from discreet.documents.model import VERSION
from tests.scripts import script

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.txt").read_text()
LONGEST_FILE = 600
# imported only where the user asks for a frame of theirs
USERS_OWN = {"pandas", "polars", "scikit-learn"}

# importer -> what it must never import; each arrow is a privacy argument.
FORBIDDEN = {
    "discreet.design": {"discreet.people"},
    "discreet.solve": {"discreet.people", "discreet.engine"},
    "discreet.paper.sampler": {"discreet.people", "discreet.engine"},
    "discreet.estimator": {"discreet.people", "discreet.engine", "discreet.ledger"},
    "discreet.core": {"discreet.people", "discreet.ledger"},
    "discreet.likelihood": {"discreet.people", "discreet.ledger"},
    "discreet.mechanisms": {"discreet.people", "discreet.ledger"},
    "discreet.ledger": {
        "discreet.people",
        "discreet.engine",
        "discreet.likelihood",
        "discreet.mechanisms",
    },
    "discreet.federation": {"discreet.people", "discreet.ledger"},
    "discreet.export": {
        "discreet.people",
        "discreet.engine",
        "discreet.regression",
        "discreet.base",
    },
    "discreet.report": {
        "discreet.people",
        "discreet.engine",
        "discreet.regression",
        "discreet.base",
    },
}
# what only a few may import -> those few
PROTECTED = {
    "discreet.ledger": {
        "discreet.release",
        "discreet.regression",
        "discreet.audit.release",
        "discreet.cli.budget",
    },
}


@pytest.mark.parametrize("name", discreet.__all__)
def test_every_public_name_is_there(name):
    assert getattr(discreet, name) is not None
    assert name in dir(discreet)


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(discreet.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    names = {alias.asname for line in guarded.body for alias in line.names}
    assert names == set(discreet.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = discreet.nothing


def test_importing_discreet_imports_nothing_heavy():
    code = "import sys, discreet; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {Requirement(line).name for line in _runtime()} | {"sklearn"}
    assert not heavy & set(done.stdout.split())


def test_what_is_imported_is_declared():
    extras = METADATA["project"]["optional-dependencies"]
    chosen = ("dask", "databases", "federation", "files", "postgres", "sampler")
    lines = [*_runtime(), *(line for name in chosen for line in extras[name])]
    declared = {Requirement(line).name for line in lines} | USERS_OWN
    provided = packages_distributions()
    imported = set().union(*map(_imported, SOURCES))
    for name in imported - sys.stdlib_module_names - {"discreet"}:
        assert {item.lower() for item in provided[name]} & declared, name


def test_types_are_shipped():
    assert (Path(discreet.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize("importer", FORBIDDEN)
def test_privacy_arrows_have_a_contract(importer):
    contracts = [item for item in _contracts("forbidden") if importer in item["source_modules"]]
    forbidden = {name for item in contracts for name in item["forbidden_modules"]}
    assert forbidden >= FORBIDDEN[importer]
    ignored = {line for item in contracts for line in item.get("ignore_imports", ())}
    assert ignored <= {"discreet.** -> discreet.people.episodes"}


@pytest.mark.parametrize("module", PROTECTED)
def test_what_few_may_import_has_a_contract(module):
    (contract,) = [item for item in _contracts("protected") if module in item["protected_modules"]]
    assert set(contract["allowed_importers"]) <= PROTECTED[module]
    assert "ignore_imports" not in contract


def test_files_stay_short():
    assert [p.name for p in SOURCES if len(p.read_text().splitlines()) > LONGEST_FILE] == []


def test_the_lock_pins_what_the_metadata_allows():
    pins = dict(_pin(line) for line in LOCK.splitlines() if "==" in line)
    for line in _runtime():
        requirement = Requirement(line)
        assert requirement.specifier.contains(pins[requirement.name.lower()])


def test_the_lock_names_no_place():
    assert "://" not in LOCK
    assert " @ " not in LOCK
    assert "--index-url" not in LOCK


def test_every_pin_is_checked_by_its_hash():
    pins = [line for line in LOCK.splitlines() if "==" in line]
    assert pins
    assert all(line.endswith("\\") for line in pins)


def test_the_published_schema_is_that_of_the_code():
    """If not: python docs/reference.py."""
    published = ROOT / "docs" / f"release-schema-{VERSION}.json"
    assert json.loads(published.read_text()) == script("docs/release_schema.py").release_schema()


def _imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


def _contracts(kind: str) -> list[dict]:
    contracts = METADATA["tool"]["importlinter"]["contracts"]
    return [contract for contract in contracts if contract["type"] == kind]


def _runtime() -> list[str]:
    return METADATA["project"]["dependencies"]


def _pin(line: str) -> tuple[str, str]:
    name, _, rest = line.partition("==")
    return name, rest.split()[0]


def test_one_name_is_one_class():
    """Two classes of one name would be two meanings of one word."""
    homes = {}
    for path in SOURCES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path.name)
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}
