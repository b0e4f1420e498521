"""Writes tests/golden/format/: small files as the Python libraries write them, for the readers' tests.

    python reference/golden_formats.py

Needs numpy, torch and safetensors. All values are i * 0.25 - 1, exact in every floating type."""

import pathlib

import numpy as np
import torch
from safetensors.torch import save_file

out = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "format"
out.mkdir(parents=True, exist_ok=True)

values = torch.arange(15, dtype=torch.float64).reshape(3, 5) * 0.25 - 1
save_file(
    {
        "f64": values,
        "f32": values.float(),
        "f16": values.half(),
        "bf16": values.bfloat16(),
        "i64": torch.arange(3),
        "i16": torch.arange(3, dtype=torch.int16),
        "bool": torch.tensor([True, False]),
    },
    out / "python.safetensors",
    metadata={"format": "pt"},
)

array = values.numpy()
np.save(out / "f32.npy", array.astype("<f4"))
np.save(out / "f64.npy", array)
np.save(out / "f16.npy", array.astype("<f2"))
np.save(out / "i8.npy", np.arange(-3, 3, dtype=np.int8))
np.save(out / "u8.npy", np.arange(6, dtype=np.uint8).reshape(2, 3))
np.save(out / "empty.npy", np.zeros((0, 7), dtype="<f4"))
np.save(out / "fortran.npy", np.asfortranarray(array.astype("<f4")))
np.save(out / "big-endian.npy", array.astype(">f4"))
np.save(out / "three.npy", np.zeros((2, 2, 2), dtype="<f4"))
np.save(out / "scalar.npy", np.float32(1))
np.save(out / "fields.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
with open(out / "version2.npy", "wb") as f:
    np.lib.format.write_array(f, array.astype("<f4"), version=(2, 0))

# A state dict as PyTorch pickles it, and one holding what a restricted reader must refuse.
base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
torch.save(
    {
        "f32": values.float(),
        "f16": values.half(),
        "bf16": values.bfloat16(),
        "i64": torch.arange(3),
        "shared": base,
        "row": base[1],
        "parameter": torch.nn.Parameter(values.float()),
        "scalar": torch.tensor(2.5),
    },
    out / "state.bin",
)
torch.save({"transposed": base.t()}, out / "strided.bin")
torch.save({"path": pathlib.PurePosixPath("x")}, out / "object.bin")
