"""Fields that several pydantic components have."""

from typing import Annotated, Any

from pydantic import AfterValidator, PlainSerializer

from compressor.integrations.options import policy_of, policy_options

PolicyField = Annotated[Any, AfterValidator(policy_of), PlainSerializer(policy_options)]
"""A policy: given as a `Policy`, a dict of its options or None, and written as that dict or None."""
