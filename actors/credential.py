"""What owners keep of a token, and what of it rides on the bus."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

TokenHash = Annotated[bytes, Field(min_length=32, max_length=32)]
"""The SHA-256 of a token's secret. The secret itself never gets past the gateway (common 2.1)."""
