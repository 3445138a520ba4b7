"""An audit: measurements of the running code, and checks of release files."""

from discreet.audit.findings import Effort, Finding, Subject
from discreet.audit.measured import FAMILIES
from discreet.audit.release import audit_document, audit_release
from discreet.audit.run import Audit, audit_mechanism

__all__ = [
    "FAMILIES",
    "Audit",
    "Effort",
    "Finding",
    "Subject",
    "audit_document",
    "audit_mechanism",
    "audit_release",
]
