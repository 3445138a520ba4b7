"""The published page: one self-contained file, a function of a release and of nothing else."""

from discreet.report.page import make_page, write_page

__all__ = ["make_page", "write_page"]
