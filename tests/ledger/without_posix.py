"""Hide what only POSIX systems have, in this process, where DISCREET_WITHOUT_POSIX is set.

`fcntl`, the flags and calls of `os` that Windows lacks, the table of mounts and the machine's
identity of Linux.  Imported before the ledger by the tests' configuration and by the load harness.
"""

import os
import sys
from pathlib import Path

HIDDEN = ("O_DIRECTORY", "O_NOFOLLOW", "fchmod", "pread", "pwrite")
NAME = "DISCREET_WITHOUT_POSIX"

if os.environ.get(NAME):
    sys.modules["fcntl"] = None
    for name in HIDDEN:
        if hasattr(os, name):
            delattr(os, name)

    from discreet.ledger import systems

    systems.MOUNTS = Path("/nothing here")
    systems.MACHINE_IDS = ()
