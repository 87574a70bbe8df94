"""Chunks, the strategies that make them, and the packer they share."""

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.chunking.config import (
    ChunkingConfig,
    OverlapScope,
    StrategyName,
    StructureConfig,
    strategy_name,
)
from app.domain.chunking.strategies import STRATEGIES, stream_chunks
from app.domain.chunking.tools import ChunkingTools

__all__ = [
    "STRATEGIES",
    "Chunk",
    "ChunkingConfig",
    "ChunkingTools",
    "OverlapScope",
    "Passage",
    "StrategyName",
    "StructureConfig",
    "strategy_name",
    "stream_chunks",
]
