"""What failures of the transport become; no secret leaves in any of them."""

from __future__ import annotations

import httpx
import pytest

from app.adapters.providers.cohere_client import COHERE, open_client
from app.adapters.providers.http import Provider, retry_after
from app.domain.errors import ConfigError, ProviderUnavailable
from tests.provider_fakes import cohere_embedder


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": " 0.25 "}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_retry_after_is_read_in_all_its_forms(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers) == seconds


@pytest.mark.parametrize("key", ["", "   ", "k\u00e9y", "ke\ny"])
async def test_a_key_that_is_none_is_refused_before_it_reaches_a_header(key: str) -> None:
    with pytest.raises(ConfigError, match="set CO_API_KEY"):
        async with open_client(key, "http://127.0.0.1:9"):
            pass


@pytest.mark.parametrize(
    ("url", "error"),
    [("http://127.0.0.1:9", ProviderUnavailable), ("ftp://example.org", ConfigError)],
)
async def test_an_address_where_nothing_answers_is_one_clear_error(
    url: str, error: type[Exception]
) -> None:
    async with open_client("secret-key", url) as client:
        with pytest.raises(error, match="RAG_COHERE_BASE_URL") as caught:
            await cohere_embedder(client).embed_query("question")
    assert "secret-key" not in str(caught.value)


def test_the_text_of_a_transport_error_is_not_repeated() -> None:
    """A protocol error may hold the request's headers."""
    errors = Provider(httpx.AsyncClient(), *COHERE).errors("embed")
    with pytest.raises(ProviderUnavailable) as caught, errors:
        raise httpx.LocalProtocolError("Illegal header value b'Bearer secret-key'")
    assert "secret-key" not in str(caught.value)
