"""The keys that may use the API."""

from app.adapters.sqlite.site_keys import SqliteSiteKeys
from app.settings import Settings

__all__ = ["SqliteSiteKeys", "site_keys"]


def site_keys(settings: Settings) -> SqliteSiteKeys:
    return SqliteSiteKeys(settings.home / "keys.sqlite")
