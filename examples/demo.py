"""The demonstration that `discreet demo` shows.

python examples/demo.py [--out FOLDER]
"""

import sys

from discreet.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "demo")
    main()
