# ruff: noqa: INP001, S603, S607, T201, a script beside others, no package
"""Count the lines of the package by room, at a commit and in this tree.

python studies/weight.py 86b71d3      writes the table of docs/architecture.md
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- weight: begin -->", "<!-- weight: end -->"


def git(*words: str) -> str:
    """Output of git in this repository."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True, text=True)
    return done.stdout


def rooms(commit: str) -> Counter[str]:
    """Lines of Python by folder of the package; files beside the folders are the top level."""
    found: Counter[str] = Counter()
    for path in git("ls-tree", "-r", "--name-only", commit, "src/discreet").splitlines():
        if path.endswith(".py"):
            parts = path.split("/")
            room = parts[2] + "/" if len(parts) > 3 else "top level"
            found[room] += len(git("show", f"{commit}:{path}").splitlines())
    return found


def main() -> None:
    """Write the table."""
    base = sys.argv[1]
    then, now = rooms(base), rooms("HEAD")
    lines = [f"| room | {base} | now |", "|---|---:|---:|"]
    lines += [
        f"| {room} | {then[room]} | {now[room]} |"
        for room in sorted(then | now, key=lambda room: (room == "top level", room))
    ]
    lines.append(f"| all | {then.total()} | {now.total()} |")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    table = "\n".join(lines)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
