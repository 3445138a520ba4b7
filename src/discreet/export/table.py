"""The coefficients as a JSON table: rows with a Table Schema beside them.

Written as the Frictionless Table Schema says, which pandas reads by `read_json(orient="table")`.

Reference: https://specs.frictionlessdata.io/table-schema/
"""

import json
from typing import Any

import numpy as np

from discreet.export.content import Content
from discreet.results.normal import normal_quantile, standard_errors

CONFIDENCE = 0.95


def write(content: Content) -> bytes:
    """The file: `schema`, `data` and, as its description, how to take the numbers."""
    vector = np.concatenate([part.vector for part in content.parts])
    causes = [part.cause for part in content.parts for _ in content.names]
    columns: dict[str, list[Any]] = {"cause": causes} if len(content.parts) > 1 else {}
    columns |= {"name": list(content.names) * len(content.parts), "coefficient": vector.tolist()}
    if content.covariance is not None:
        errors = standard_errors(content.covariance)
        margin = normal_quantile(CONFIDENCE) * errors
        columns["standard error"] = errors.tolist()
        columns |= {"lower": (vector - margin).tolist(), "upper": (vector + margin).tolist()}
    keys = ["cause", "name"] if "cause" in columns else ["name"]
    fields = [{"name": name, "type": "string" if name in keys else "number"} for name in columns]
    table = {
        "description": " ".join(content.words),
        "schema": {"fields": fields, "primaryKey": keys},
        "data": [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ],
    }
    return (json.dumps(table, ensure_ascii=False, indent=1) + "\n").encode()
