"""What can stop an evaluation.

EvaluationError      the evaluation cannot go on
├── CaseError        a case file is malformed: names the file, the line and the case
├── SystemFailure    a compressor under test raised, or returned no transcript: names the compressor and the case
├── EndpointError    an endpoint cannot be reached or answers with something else than a chat completion
└── BaselineError    the numbers to compare with are missing, or were made on other cases
"""

from compressor.errors import CompressorError


class EvaluationError(CompressorError):
    """The evaluation cannot go on; the message says what to change."""


class CaseError(EvaluationError, ValueError):
    """A case file is malformed; the message names the file, the line and the case."""


class SystemFailure(EvaluationError):
    """A compressor under test raised or returned no transcript; the message names it and the case."""


class EndpointError(EvaluationError):
    """A reader or a summariser cannot be reached or is misused; the message names its address."""


class BaselineError(EvaluationError):
    """A baseline cannot be compared with; the message names the file and the reason."""
