#!/usr/bin/env bash
# The Python package with what Python itself has. Its tests with NumPy, PyTorch and sentence-transformers are
# scripts/test-python's, which installs them.
set -euo pipefail
library=$(cd "$(dirname "$1")" && pwd)/src/libcalque.so
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || { echo "skipped: no Python 3.9 or later"; exit 0; }
case $1 in *-emulated) echo "skipped: the library is of another machine"; exit 0 ;; esac
# A library with sanitizers cannot be loaded into a Python without.
if nm -D "$library" | grep -q ' U __[at]san_init'; then echo "skipped: the library has sanitizers"; exit 0; fi
export CALQUE_LIBRARY=$library PYTHONDONTWRITEBYTECODE=1
unset CALQUE_TEST_INSTALLED PYTHONPATH
cd "$2/python/tests"
exec python3 -m unittest -q test_plain
