"""Documents that are written as they look: templates of Jinja, in the folder `templates/` of a package."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def template(package: str, name: str, **filters: Any) -> Any:
    """Return a template of a package, by its name; texts in HTML and XML are escaped."""
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=name.endswith((".html", ".xml")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment.get_template(name)
