"""Warnings of fits that are not private; a release says what weakens it in its file."""


class RepairWarning(UserWarning):
    """Values did not fit the schema and were repaired by the fixed rule.

    Examples
    --------
    >>> warnings.simplefilter("error", ds.warnings.RepairWarning)  # doctest: +SKIP
    """


class SeparationWarning(UserWarning):
    """The data alone determine no finite, unique estimate; a ridge was added.

    Examples
    --------
    >>> warnings.simplefilter("error", ds.warnings.SeparationWarning)  # doctest: +SKIP
    """
