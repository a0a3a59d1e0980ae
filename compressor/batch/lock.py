"""Keeps two runs out of one output folder. The system lets go of the lock when the process ends, however it ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compressor.batch.errors import BusyError


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file.

    Raises:
        BusyError: Another process holds it; names that process.
        OSError: The file cannot be made or locked.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            _lock(handle)
        except (BlockingIOError, PermissionError) as error:  # other errors: the folder's system knows no locks
            holder = os.read(handle, 32).decode("ascii", "replace").strip() or "unknown"
            raise BusyError(
                f"another run (process {holder}) is at work in {path.parent.parent}; wait for it or choose another output."
            ) from error
        os.truncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows, where the bytes far behind the process number are locked instead
        import msvcrt

        os.lseek(handle, 1 << 20, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        os.lseek(handle, 0, os.SEEK_SET)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
