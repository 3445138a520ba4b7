"""Build hook: the chart library of the published page, taken from vl-convert when a wheel is built.

The page draws with Vega, Vega-Lite and Vega-Embed. vl-convert brings the three as one text of 0.9 MB
inside a package of 84 MB, so it is a requirement of building, not of running.
"""

from pathlib import Path
from typing import Any

import vl_convert
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CHARTS = "src/discreet/report/templates/charts.js"


class ChartsBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Write `report/templates/charts.js` into the tree and the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the interface
        """Before a wheel or an editable install is made."""
        Path(self.root, CHARTS).write_text(vl_convert.javascript_bundle(), encoding="utf-8")
        build_data["artifacts"].append(CHARTS)
