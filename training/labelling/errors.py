"""What can stop a transcript, or the whole run, from being labelled.

LabelError          a record cannot be labelled or read: names the file, the record and the turn
├── AnswerError     a teacher's answer is of no use: says why, in words that a retry can quote
└── TeacherError    the teacher refuses every request (its key, its address, its name), or is gone
    └── BusyError   one request got no answer, after all retries
"""

from training.errors import DataError


class LabelError(DataError):
    """A record cannot be labelled or read; the message names it and the reason."""


class AnswerError(LabelError):
    """A teacher's answer is of no use; the message says why."""


class TeacherError(LabelError):
    """The teacher answers no request at all; the message names its address and what to do."""


class BusyError(TeacherError):
    """A single request got no answer, after all retries; the message names the last reason."""
