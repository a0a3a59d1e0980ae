"""Every exception of the package.

CompressorError
├── InputError       the transcript cannot be read: names the turn and the field
├── PolicyError      an option is out of range, unknown, or excludes another
├── ModelError       a model folder is missing, incomplete, or made for another segmentation
├── SessionError     a session cannot take a message, meet its budget, or be saved or loaded; it stays as it was
├── ScorerError      a scorer returned arrays of the wrong length or outside 0 to 1
└── ContractError    a result breaks one of the six promises: names the promise and the place
"""


class CompressorError(Exception):
    """Base of all errors raised on purpose by this package."""


class InputError(CompressorError, ValueError):
    """The transcript cannot be read; the message names the turn and the field."""


class PolicyError(CompressorError, ValueError):
    """An option has a value that is not allowed; the message names the option, the value and what is allowed."""


class ModelError(CompressorError):
    """A model folder cannot be used; the message names the folder and the reason."""


class ScorerError(CompressorError):
    """A scorer broke its protocol; the message names the scorer and the turn."""


class SessionError(CompressorError, ValueError):
    """A session cannot do what was asked; the message names the turn or the file, and the session stays as it was."""


class ContractError(CompressorError, AssertionError):
    """A result breaks a promise; the message names the promise, the turn and the place."""
