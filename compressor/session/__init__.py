"""A growing conversation: levels per turn that only ever tighten, and an output whose earlier bytes stay."""

from compressor.session.levels import LEVELS, Level
from compressor.session.report import CallReport, SessionReport, StepReport
from compressor.session.session import Session

__all__ = ["LEVELS", "CallReport", "Level", "Session", "SessionReport", "StepReport"]
