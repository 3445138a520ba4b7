"""Real commands, each in a process of its own that is killed at a named point.

Run as a script with a JSON object: the command's words (`{name}` is the point's number) and a folder.
The command runs once without a ledger, so that the children, which are forked, find everything
compiled; then once for each point with SIGKILL there, and once more with the same words.
Prints for each point how both ended.
"""

import json
import os
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from discreet.cli import main
from discreet.points import JointPoint, ReleasePoint, install


def command(words: list[str]) -> int:
    """The command as a shell would run it; its exit status."""
    sys.argv = ["discreet", *words]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def child(words: list[str], point: ReleasePoint | None) -> int:
    """How a forked process that runs the command ends; a killed one by minus its signal."""
    process = os.fork()
    if not process:
        if point is not None:
            install(lambda reached: _die(reached, point))
        with (
            Path(os.devnull).open("w") as nowhere,
            redirect_stdout(nowhere),
            redirect_stderr(nowhere),
        ):
            status = command(words)
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _die(reached: ReleasePoint | JointPoint, point: ReleasePoint) -> None:
    if reached == point:
        os.kill(os.getpid(), signal.SIGKILL)


def run(settings: dict) -> dict[str, list[int]]:
    """Both ends of the command for each point, by the point's name."""
    os.chdir(settings["folder"])
    pays = ["--no-ledger", "--out", "warm.json"]
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        warm = command([*settings["words"], *pays])
    found = {"warm": [warm]}
    for number, point in enumerate(ReleasePoint):
        words = [*settings["words"], "--ledger", "budget.db", "--out", f"{number}.json"]
        words += ["--release-id", f"release-{number}", "--yes"]
        found[point] = [child(words, point), child([*words, "--overwrite"], None)]
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(json.loads(sys.argv[1]))) + "\n")
