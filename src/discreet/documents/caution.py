"""Cautions of a release about itself: a code for programs, sentences for readers and custodians."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, Strict, model_serializer, model_validator

NOTE = "note"
"""The code of a plain text, as files of version 0.1 have them."""

OF_THE_PROMISE = (
    "unproved", "seeded", "approximate", "weak-epsilon", "weak-delta", NOTE,
)  # fmt: skip
"""Codes that are about privacy; all others are about the numbers."""

Word = Annotated[str, Strict(), Field(max_length=4000)]


class Caution(BaseModel):
    """One reason for care, computed from released numbers and public facts alone.

    Parameters
    ----------
    code : str
        ``at-risk``, ``events``, ``noise``, ``unreached``, ``stratum``, ``life-table``, ``varying``,
        ``tail``; of curves ``empty-group``, ``short-follow-up``, ``wide-band``: what is wrong with
        the numbers; others are about the promise (``seeded``, ``approximate``, ...).
    message : str
        The same in a sentence or two, for all who read the release.
    coefficients : tuple of str
        Whose numbers are meant; empty if all of them.
    remedy : str
        What another release could do about it, for those who hold the records; pages leave it out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: Word
    message: Word
    coefficients: tuple[Word, ...] = ()
    remedy: Word = ""

    @model_validator(mode="before")
    @classmethod
    def _read_text(cls, value: object) -> object:
        return {"code": NOTE, "message": value} if isinstance(value, str) else value

    @model_serializer
    def _write(self) -> Any:
        """As old files have it where there is no remedy, so that they keep their digests."""
        if self.code == NOTE and not self.coefficients:
            return self.message
        written = {
            "code": self.code,
            "message": self.message,
            "coefficients": list(self.coefficients),
        }
        return written | ({"remedy": self.remedy} if self.remedy else {})

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".rstrip()

    @property
    def of_the_promise(self) -> bool:
        """Whether it is about privacy, not about the numbers."""
        return self.code in OF_THE_PROMISE

    @classmethod
    def about(
        cls, code: str, message: str, coefficients: tuple[str, ...] = (), remedy: str = ""
    ) -> Self:
        """A caution in one call."""
        return cls(code=code, message=message, coefficients=coefficients, remedy=remedy)
