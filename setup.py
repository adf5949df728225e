"""Builds the one native module; everything else is in pyproject.toml."""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

# The stable ABI: one wheel for CPython 3.10 and later.
LIMITED_API = "0x030A0000"
debug = os.environ.get("DSELEMENTS_DEBUG_BUILD") == "1"

native = Extension(
    "dselements._core._native",
    sources=["src/dselements/_core/_native.pyx"],
    define_macros=[("Py_LIMITED_API", LIMITED_API)],
    py_limited_api=True,
    libraries=["dl", "pthread"],
    extra_compile_args=["-O0", "-g"] if debug else ["-O3", "-g0"],
)

setup(
    ext_modules=cythonize(
        [native],
        compiler_directives={"language_level": 3, "embedsignature": True},
        annotate=False,
    ),
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
