"""What a report of a bug should say: versions, system and processor; no name or path of the user."""

from __future__ import annotations

import platform
import sysconfig
from importlib.metadata import PackageNotFoundError, version

from truecal._threads import count_processors

REQUIRED = ("numpy", "scipy")
OPTIONAL = (
    *("polars", "narwhals", "matplotlib", "shtab"),
    *("pandas", "pyarrow", "duckdb", "pyspark", "dask", "ibis-framework", "scikit-learn"),
)


def describe_versions() -> str:
    """Return a line for each part: what it is, and which."""
    named = {
        "python": _describe_python(),
        "system": _describe_system(),
        "cores": str(count_processors()),
        "kernel": _describe_kernel(),
        **{name: _find_version(name) for name in (*REQUIRED, *OPTIONAL)},
    }
    width = max(map(len, named))
    return "\n".join(f"{name:<{width}}  {found}" for name, found in named.items())


def _describe_python() -> str:
    threads = ", free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    return f"{platform.python_implementation()} {platform.python_version()}{threads}"


def _describe_system() -> str:
    """The system, its C library or version, and the processor; a release may be named by who built it."""
    musl = "musl" in str(sysconfig.get_config_var("SOABI"))  # whose version only Python 3.14 knows
    kind = {
        "Linux": "musl" if musl else " ".join(platform.libc_ver()),
        "Darwin": platform.mac_ver()[0],
        "Windows": platform.version(),
    }.get(platform.system(), "")
    return " ".join(part for part in (platform.system(), kind, platform.machine()) if part)


def _describe_kernel() -> str:
    try:
        from truecal import _kernel
    except ImportError as error:  # a broken installation is what the report may be about
        return f"cannot be loaded: {type(error).__name__}"
    return _kernel.compiler


def _find_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
