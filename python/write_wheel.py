"""Writes a wheel of a folder: write_wheel.py FOLDER PYPROJECT PLATFORM OUTPUT. Equal files give equal bytes."""

from __future__ import annotations

import base64
import hashlib
import os
import sys
import tomllib
import zipfile
from pathlib import Path


def main(folder: Path, pyproject: Path, platform: str, output: Path) -> None:
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    name, version = project["name"], project["version"]
    info = "%s-%s.dist-info" % (name, version)
    tag = "py3-none-" + platform
    metadata = ["Metadata-Version: 2.1", "Name: " + name, "Version: " + version, "Summary: " + project["description"]]
    metadata += ["License: " + project["license"]["text"], "Requires-Python: " + project["requires-python"]]
    metadata += ["Classifier: " + c for c in project["classifiers"]]
    for extra, needed in project["optional-dependencies"].items():
        metadata += ["Provides-Extra: " + extra] + ["Requires-Dist: %s; extra == '%s'" % (n, extra) for n in needed]
    wheel = ["Wheel-Version: 1.0", "Generator: calque", "Root-Is-Purelib: false", "Tag: " + tag]

    files = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        place = path.relative_to(folder).as_posix()
        files[place.replace("licenses/", info + "/licenses/") if place.startswith("licenses/") else place] = path.read_bytes()
    files[info + "/METADATA"] = "\n".join(metadata + [""]).encode()
    scripts = ["[console_scripts]"] + ["%s = %s" % s for s in project["scripts"].items()]
    files[info + "/entry_points.txt"] = "\n".join(scripts + [""]).encode()
    files[info + "/WHEEL"] = "\n".join(wheel + [""]).encode()
    record = []
    for place, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append("%s,sha256=%s,%d" % (place, digest, len(content)))
    files[info + "/RECORD"] = "\n".join(record + [info + "/RECORD,,", ""]).encode()

    target = output / ("%s-%s-%s.whl" % (name, version, tag))
    with zipfile.ZipFile(str(target) + ".new", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for place, content in files.items():
            entry = zipfile.ZipInfo(place, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100755 if "/bin/" in place else 0o100644) << 16
            z.writestr(entry, content)
    os.replace(str(target) + ".new", target)
    print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
