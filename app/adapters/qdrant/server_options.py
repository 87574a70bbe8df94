"""Layout of the collections on a Qdrant server or cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qdrant_client import models


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The defaults fit one node. For high availability use 3 nodes, 2 replicas, consistency 2."""

    shard_number: int = 1
    replication_factor: int = 1
    write_consistency_factor: int = 1
    quantization: Literal["none", "int8"] = "none"
    """int8 takes a quarter of the memory; the best candidates are rescored with the originals."""
    on_disk_vectors: bool = False
    """Keep the original vectors on disk; with int8, only the quantized vectors need memory."""
    strict_mode: bool = True
    """The server refuses filters on fields without an index, and requests above its limits."""


BATCH = 256
"""Points in one upsert: about 5 MB of JSON at 1,024 dimensions, under the server's 32 MB."""

PAGE = 1_000
"""Points in one page of a scroll."""

SEARCHES = 64
"""Searches in one request."""


def vector_params(dimension: int, options: ServerOptions) -> models.VectorParams:
    return models.VectorParams(
        size=dimension,
        distance=models.Distance.COSINE,
        on_disk=options.on_disk_vectors,
        quantization_config=(
            models.ScalarQuantization(
                scalar=models.ScalarQuantizationConfig(
                    type=models.ScalarType.INT8, quantile=0.99, always_ram=True
                )
            )
            if options.quantization == "int8"
            else None
        ),
    )


def hnsw_config() -> models.HnswConfigDiff:
    """One HNSW graph for each book, and one over all books for questions without a book."""
    return models.HnswConfigDiff(m=16, payload_m=16)


def search_params(options: ServerOptions) -> models.SearchParams | None:
    if options.quantization == "none":
        return None
    return models.SearchParams(
        quantization=models.QuantizationSearchParams(rescore=True, oversampling=2.0)
    )


def strict_mode(options: ServerOptions) -> models.StrictModeConfig | None:
    if not options.strict_mode:
        return None
    return models.StrictModeConfig(
        enabled=True,
        unindexed_filtering_retrieve=False,
        unindexed_filtering_update=False,
        max_query_limit=PAGE,
        upsert_max_batchsize=BATCH,
        search_max_batchsize=SEARCHES,
        filter_max_conditions=64,
    )
