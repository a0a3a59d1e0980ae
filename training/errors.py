"""What can stop a training run.

TrainingError         the run cannot go on: names what was wrong, and what is allowed
├── ConfigError       a configuration, or the checkpoint of another one
└── DataError         transcripts that cannot be learned from: names the record
"""

from compressor.errors import CompressorError


class TrainingError(CompressorError, ValueError):
    """A run cannot go on; the message says what was wrong and what is allowed."""


class ConfigError(TrainingError):
    """A training configuration cannot be used; the message names the file, the key and what is allowed."""


class DataError(TrainingError):
    """Transcripts cannot be learned from or measured on; the message names the record or the folder."""
