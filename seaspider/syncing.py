"""What outlives a power cut, beside the bytes of files: the names in a folder."""

from __future__ import annotations

import os
from pathlib import Path


def sync_folder(folder: str | Path) -> None:
    """Names given and taken away in it are on the disk when this returns. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
