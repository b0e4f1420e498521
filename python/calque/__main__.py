"""The program: `calque` where the wheel is installed, and `python -m calque`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def program() -> str | None:
    """The wheel's own; that of a build tree that this file stands beside; the system's, but not the script that runs."""
    here = Path(__file__).resolve().parent
    for place in (here / "bin" / "calque", here.parent.parent / "build" / "release" / "calque"):
        if place.exists():
            return str(place)
    found = shutil.which("calque")
    return None if found is None or os.path.realpath(found) == os.path.realpath(sys.argv[0]) else found


def main() -> int:
    path = program()
    if path is None:
        print("calque: the program is not installed: this package has the library alone", file=sys.stderr)
        return 1
    if not os.access(path, os.X_OK):  # an installer that drops permissions
        try:
            os.chmod(path, 0o755)
        except OSError as error:
            print("calque: %s may not be run: %s" % (path, error.strerror), file=sys.stderr)
            return 1
    os.execv(path, ["calque", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
