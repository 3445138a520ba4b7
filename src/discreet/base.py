"""Estimators: settings as in scikit-learn, one way to publish, and what can be done with every file."""

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from discreet.design.schema import Schema
from discreet.errors import NotFittedError, SettingsError
from discreet.people.source import People

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.audit import Audit
    from discreet.documents.model import Promised
    from discreet.joint import Federation
    from discreet.privacy.noise import NoiseSource
    from discreet.release import AbstractOrder, Payer

SchemaLike = Schema | str | PathLike[str] | Mapping[str, Any]


def as_schema(schema: SchemaLike) -> Schema:
    """Return the schema that an object, a mapping or a path describes."""
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, Mapping):
        return Schema.from_mapping(schema)
    return Schema.from_toml(Path(schema))


class Estimator(ABC):
    """An object with settings that makes or loads one document.

    `publish` and `ds.simulate` need `_order`; everything else follows from the document, ``model_``.
    """

    model_: Any

    @abstractmethod
    def _order(self, mechanism: Any, **terms: Any) -> "AbstractOrder[Any]":
        """Return what a release asks for; an error here comes before any data is read."""

    @classmethod
    @abstractmethod
    def _of(cls, document: Any) -> Self:
        """Return the estimator whose document this is, with its settings."""

    @abstractmethod
    def summary(self) -> Any:
        """Return a table of the numbers, with what is promised about them."""

    @abstractmethod
    def plot(self) -> "Figure":
        """Return a picture of the numbers."""

    def _source(self, data: Any, outcome: Any) -> People:
        return People.of(data, outcome)

    @property
    def _model(self) -> Any:
        """The document; an error if there is none yet."""
        if not self.__sklearn_is_fitted__():
            # scikit-learn's tools catch its own class; where it is not loaded, ours has the same bases
            sklearn = sys.modules.get("sklearn.exceptions")
            error = NotFittedError if sklearn is None else sklearn.NotFittedError
            raise error(f"this {type(self).__name__} is not fitted yet; call fit or publish first.")
        return self.model_

    @property
    def schema_(self) -> Schema:
        """The public schema, with the bounds that the fit used."""
        schema: Schema = self._model.public_schema
        return schema

    @property
    def release_(self) -> "Promised":
        """The release: what was drawn, and what is promised."""
        if not self._model.private:
            raise AttributeError("this model is not private, so it has no release_.")
        release: Promised = self._model
        return release

    def publish(  # noqa: PLR0913 - the terms of a release, each by name
        self,
        data: Any,
        outcome: Any = None,
        *,
        mechanism: Any,
        ledger: "Payer | str | PathLike[str]",
        path: str | Path | None = None,
        persons: int | None = None,
        release_id: str | None = None,
        accept_approximate: bool = False,
        overwrite: bool = False,
        federation: "Federation | None" = None,
    ) -> Self:
        """Make one private release and charge it to a ledger; nothing is refunded.

        Parameters
        ----------
        data, outcome
            As in `SurvivalRegression.fit`.
        mechanism
            What adds the noise, and the epsilon: ``ds.PrivateNewton(epsilon=1)`` for a regression,
            ``ds.GroupCounts(epsilon=1)`` for curves by group.
        ledger
            Who pays: the location of a ledger, a Ledger, or ``ds.NO_LEDGER``.
        path
            Where the release is written, before the ledger learns that it is settled.
        persons
            The number of persons, public under replace-one: the charge then comes before the data
            are parsed.  Otherwise they are counted first.
        release_id
            The name of the release in the ledger; made up if None.
        accept_approximate
            Publish a draw whose promise is proved for a perfect sampler only.
        overwrite
            Whether an existing file is replaced.
        federation
            The sites that make the release together, ``ds.Federation.read("sites.toml", party)``;
            ``data`` are then this site's own people.

        Returns
        -------
        SurvivalRegression or GroupCurves
            This object with the released numbers; ``release_`` is the document.

        Raises
        ------
        BudgetError
            The budget does not cover the release; nothing was charged, and at most n was read.
        LedgerError
            The ledger cannot be trusted or written.
        InputError
            A setting, the schema or the form of the data is wrong.
        FederationError
            Another site is absent, differs or has gone.
        """
        from discreet.release import as_ledger, new_release_id, publish  # noqa: PLC0415 - mechanisms

        order = self._order(
            mechanism,
            persons=persons,
            release_id=release_id or new_release_id(),
            accept_approximate=accept_approximate,
        )
        how: dict[str, Any] = {} if federation is None else {"agreed": federation.agreed}
        document = publish(
            order,
            self._source(data, outcome),
            ledger=as_ledger(ledger),
            path=None if path is None else Path(path),
            overwrite=overwrite,
            **how,
        )
        self._adopt(document)
        return self

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the file: strict JSON, whole or not at all.

        Parameters
        ----------
        path
            Where to.
        overwrite
            Whether an existing file is replaced.

        Raises
        ------
        SettingsError
            The noise of the release can be repeated (`ds.simulate`).
        """
        self._model.save(path, overwrite=overwrite)

    def page(
        self, path: str | Path, *, words: str | Path | None = None, overwrite: bool = False
    ) -> None:
        """Write the page of a release: one self-contained HTML file.

        Parameters
        ----------
        path
            The file to write, such as ``page.html``.
        words
            A TOML file with title, labels and units in place of the release's own.
        overwrite
            Whether an existing file is replaced.

        Raises
        ------
        ArtefactError
            The model is not a private release.
        """
        from discreet.design.words import Words  # noqa: PLC0415
        from discreet.report import write_page  # noqa: PLC0415 - a large library

        own = None if words is None else Words.from_toml(words)
        write_page(self._model, path, words=own, overwrite=overwrite)

    def audit(self) -> "Audit":
        """Check that a release is what it claims to be, as `discreet audit` does.

        ``sound`` says whether every check passed, ``findings`` lists them.
        """
        from discreet.audit import audit_document  # noqa: PLC0415 - scipy, mechanisms

        return audit_document(self._model)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002
        """The constructor's settings (scikit-learn's own base class takes a second to import).

        Parameters
        ----------
        deep
            As in scikit-learn; no setting has settings of its own.
        """
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Change settings by name.

        Parameters
        ----------
        **params
            New values; `SettingsError` for a name that is no setting's.
        """
        known = self._defaults()
        for name, value in params.items():
            if name not in known:
                raise SettingsError(f"unknown setting {name!r}; settings are {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = (
            f"{name}={_shown(getattr(self, name))}"
            for name, default in self._defaults().items()
            if getattr(self, name) is not default
        )
        return f"{type(self).__name__}({', '.join(given)})"

    def _repr_html_(self) -> str | None:
        """The summary in a notebook, once there is one."""
        found: str | None = self.summary().to_html() if self.__sklearn_is_fitted__() else None
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # noqa: PLC0415 - slow to load

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(allow_nan=True, string=True, categorical=True),
        )

    def _adopt(self, document: Any) -> None:
        """Keep the document, and nothing that an earlier fit left."""
        vars(self).pop("repairs_", None)
        self.model_ = document

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The default of every setting."""
        parameters = inspect.signature(cls).parameters
        return {name: parameter.default for name, parameter in parameters.items()}


NEEDS_MECHANISM = "publishing needs a mechanism, such as mechanism={}."

AnyEstimator = TypeVar("AnyEstimator", bound=Estimator)


def simulate(
    model: AnyEstimator,
    data: Any,
    outcome: Any = None,
    *,
    mechanism: Any,
    seed: "int | NoiseSource",
    persons: int | None = None,
) -> AnyEstimator:
    """Draw what a release could look like, with noise that can be repeated: **not private**.

    For studying methods on data that need no protection.  Nothing is charged, the result says
    that it is not private, and it cannot be saved.

    Parameters
    ----------
    model
        What would be published: a `SurvivalRegression` or `GroupCurves`.
    data, outcome
        As in ``model.publish``.
    mechanism
        As in ``model.publish``; mechanisms that are never published may be drawn.
    seed
        A whole number, or a seeded source of noise.
    persons
        The number of persons; counted if None.

    Returns
    -------
    SurvivalRegression or GroupCurves
        A new object with predictions and a summary; ``model_`` is the simulated release.

    Examples
    --------
    >>> model = ds.SurvivalRegression("schema.toml")
    >>> ds.simulate(
    ...     model, "simulated.csv", mechanism=ds.PrivateNewton(epsilon=1), seed=1
    ... )  # doctest: +SKIP
    """
    from discreet.privacy.testing import SeededNoise  # noqa: PLC0415 - loads the samplers
    from discreet.release import simulate as simulated  # noqa: PLC0415 - loads the mechanisms

    noise = SeededNoise(seed) if isinstance(seed, int) else seed
    order = model._order(mechanism, persons=persons)  # noqa: SLF001 - one file, one subject
    source = model._source(data, outcome)  # noqa: SLF001
    found = type(model)(**model.get_params())
    found._adopt(simulated(order, source, noise))  # noqa: SLF001
    return found


def _shown(value: object) -> str:
    """A setting without secrets and in a line: an estimator is shown in notebooks and logs."""
    if isinstance(value, Schema):
        return "Schema(...)"
    scheme, mark, _ = str(value).partition("://")
    return repr(f"{scheme}://..." if mark and isinstance(value, str) else value)
