"""What can stop a batch run.

BatchError           the run cannot start or go on; what is finished stays, and the message says how to resume
├── ChangedError     an input, the model, the policy or an option is not what the unfinished run began with
├── BusyError        another run is at work in the same output folder
└── FirstFailure     a record failed and the run was told to stop at the first one
"""

from compressor.errors import CompressorError


class BatchError(CompressorError):
    """The run cannot start or go on; the message says what to do."""


class ChangedError(BatchError):
    """Something is not what the run in the output folder began with; the message names what changed."""


class BusyError(BatchError):
    """Another run is at work in the same output folder."""


class FirstFailure(BatchError):
    """A record failed and the run stops at the first; the message names file, line and reason."""
