"""Tables as data frames of the reader's own library, which is imported when it is asked for."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from discreet.types import Array


class Tabular(ABC):
    """A table with a name for each column and, if `row_names` has any, for each row."""

    @abstractmethod
    def columns(self) -> Mapping[str, Array | Sequence[object]]:
        """Values by heading."""

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows; empty if they have none."""
        return ()

    def to_pandas(self) -> object:
        """A pandas DataFrame, indexed by the names of the rows."""
        import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415 - the user's, not ours

        return pd.DataFrame(dict(self.columns()), index=list(self.row_names) or None)

    def to_polars(self) -> object:
        """A polars DataFrame, whose first column ``name`` has the names of the rows."""
        import polars as pl  # noqa: PLC0415 - the user's, not ours

        names = {"name": list(self.row_names)} if self.row_names else {}
        return pl.DataFrame({**names, **self.columns()})
