"""Named points on the way of a release, where a test may stop a real process.

`reach` does nothing until a test has installed a listener in its own process.  No environment
variable, file, setting or argument can do that: only Python code that calls `install`, so no data
can reach it by accident.
"""

from collections.abc import Callable
from enum import StrEnum


class ReleasePoint(StrEnum):
    """Every named point, in the order in which a release passes them.

    Every other file that this package writes passes "written" and "renamed" as well.
    """

    RESERVE_ASKED = "reserve: asked"
    RESERVE_LOCKED = "reserve: locked"
    RESERVE_APPENDED = "reserve: appended"
    RESERVE_COMMITTED = "reserve: committed"
    RESERVE_WITNESSED = "reserve: witnessed"
    RELEASE_DRAWN = "release: drawn"
    RELEASE_WRITTEN = "release: written"
    RELEASE_RENAMED = "release: renamed"
    SETTLE_ASKED = "settle: asked"
    SETTLE_LOCKED = "settle: locked"
    SETTLE_APPENDED = "settle: appended"
    SETTLE_COMMITTED = "settle: committed"
    SETTLE_WITNESSED = "settle: witnessed"


class JointPoint(StrEnum):
    """The points that only a joint release passes, in their order."""

    CONNECTED = "joint: connected"
    AGREED = "joint: agreed"
    CHARGED = "joint: charged"
    ASKED = "joint: asked"
    MASKED = "joint: masked"
    OPENED = "joint: opened"
    DRAWN = "joint: drawn"
    COMPARED = "joint: compared"


Listener = Callable[[ReleasePoint | JointPoint], None]

_listener: Listener | None = None


def reach(point: ReleasePoint | JointPoint) -> None:
    """Tell the installed listener, if there is one, that this process has come to `point`."""
    if _listener is not None:
        _listener(point)


def install(listener: Listener | None) -> None:
    """Make `listener` hear of every point this process reaches; None takes it away."""
    global _listener  # noqa: PLW0603  # one hook per process is the whole mechanism
    _listener = listener
