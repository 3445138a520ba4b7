"""Scripts beside the package, as modules: they are run, not installed."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def script(place):
    """The script at this place in the repository; while it is imported, so are its neighbours."""
    path = ROOT / place
    name = f"script_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(specification)
    sys.path.insert(0, str(path.parent))
    try:
        specification.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module
