"""compressor shrinks conversation transcripts by deleting low-signal words and nothing else."""

from compressor.api import compress
from compressor.async_session import AsyncSession
from compressor.errors import (
    CompressorError,
    ContractError,
    InputError,
    ModelError,
    PolicyError,
    ScorerError,
    SessionError,
)
from compressor.memory import Memory
from compressor.pipeline import Compressor
from compressor.policy import Policy
from compressor.protection import RULES
from compressor.report import Report
from compressor.result import CompressionResult
from compressor.session import Session
from compressor.tokens import TokenCounter
from compressor.transcript import Span, Transcript, Turn

__version__ = "0.1.0"

__all__ = [
    "RULES",
    "AsyncSession",
    "CompressionResult",
    "Compressor",
    "CompressorError",
    "ContractError",
    "InputError",
    "Memory",
    "ModelError",
    "Policy",
    "PolicyError",
    "Report",
    "ScorerError",
    "Session",
    "SessionError",
    "Span",
    "TokenCounter",
    "Transcript",
    "Turn",
    "compress",
]
