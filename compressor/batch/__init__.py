"""Compresses archives: files and folders of conversations, larger than memory, on all cores, restartable."""

from compressor.batch.engine import Watcher, run_batch
from compressor.batch.errors import BatchError, BusyError, ChangedError, FirstFailure
from compressor.batch.identity import Settings
from compressor.batch.inputs import Selection
from compressor.batch.report import BatchReport

__all__ = [
    "BatchError",
    "BatchReport",
    "BusyError",
    "ChangedError",
    "FirstFailure",
    "Selection",
    "Settings",
    "Watcher",
    "run_batch",
]
