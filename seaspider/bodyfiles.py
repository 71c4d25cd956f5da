"""Where a body lies in a store, read as what anybody may have put there.

A name that is no sha256 names nothing, so no record leads out of the folder; what is no regular file is not read, so no
device and no pipe keeps a reader for ever.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from seaspider import journal
from seaspider.errors import StoreError

FOLDER = "bodies"
_DIGEST = re.compile(r"[0-9a-f]{64}")


def is_name(sha256: str) -> bool:
    """Whether a record that names this names a body, and leads nowhere else."""
    return _DIGEST.fullmatch(sha256) is not None


def path_of(store: Path, sha256: str) -> Path:
    return store / FOLDER / sha256[:2] / sha256


def read(store: Path, sha256: str) -> bytes | None:
    """The body of this digest; None if it is not there, or was changed. Raises StoreError."""
    if not is_name(sha256):
        return None
    path = path_of(store, sha256)
    try:
        with journal.opened(path) as file:
            body = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    return body if hashlib.sha256(body).hexdigest() == sha256 else None
