"""Commands on the keys that may use the API: keys add, list, revoke."""

import secrets
from datetime import UTC, datetime
from typing import Annotated

from typer import Argument, Option, Typer

from app.bootstrap.storage import site_keys
from app.cli import COMMANDS, root
from app.cli.books import remark_unknown
from app.cli.command import Books, Json, command
from app.cli.output import remark, show
from app.domain.errors import InputError
from app.domain.site_key import KeyKind, SiteKey, checked_origin, digest_of, new_key
from app.settings import Settings

keys = Typer()
root.add_typer(keys, name="keys", help=COMMANDS["keys"][1])


@command(group=keys)
async def add(
    settings: Settings,
    origin: Annotated[
        list[str] | None, Option(metavar="URL", help="A site that may use the key; repeatable.")
    ] = None,
    book: Books = None,
    secret: Annotated[bool, Option("--secret", help="A secret key for a server.")] = False,
    label: Annotated[str, Option(metavar="TEXT", help="A note for the list.")] = "",
    json: Json = False,
) -> None:
    """Make a key and print it, this once; only its hash is stored.

    A publishable key is for the pages of the sites that --origin names, --secret for servers.
    """
    kind = KeyKind.SECRET if secret else KeyKind.PUBLISHABLE
    if secret and origin:
        message = "a secret key is not for browsers, so it has no origins: leave out --origin"
        raise InputError(message)
    text = new_key(kind, secrets.token_bytes(32))
    key = SiteKey(
        kind,
        digest_of(text),
        tuple(dict.fromkeys(map(checked_origin, origin or ()))),
        tuple(dict.fromkeys(book or ())),
        label,
        datetime.now(UTC).isoformat(timespec="microseconds"),
    )
    await remark_unknown(settings, key.books)
    site_keys(settings).add(key)
    if not json:
        remark(f"key {key.id}, shown only now:")
    show({**_shown(key), "key": text}, [text], as_json=json)


@command("list", group=keys)
async def listing(settings: Settings, json: Json = False) -> None:
    """List the keys: id, kind, origins, books and label."""
    known = site_keys(settings).all()
    show([_shown(key) for key in known], map(_line, known), as_json=json)
    if not known:
        remark("no keys: the API answers only this machine, unless RAG_OPEN=true")


@command(group=keys)
async def revoke(
    settings: Settings,
    id: Annotated[str, Argument(metavar="ID", help="The key's id in `keys list`.")],
) -> None:
    """Make a key invalid."""
    known = site_keys(settings)
    for one in known.all():
        if one.id == id:
            known.remove(one)
            remark(f"key {id} is revoked: the next request with it is refused")
            return
    raise InputError(f"no key has the id {id!r}; see `textbook-rag keys list`")


def _line(key: SiteKey) -> str:
    where = " ".join(key.origins) or "servers"
    books = " ".join(key.books) or "all books"
    return f"{key.id}  {key.kind.name.lower():11}  {where}  {books}  {key.label}".rstrip()


def _shown(key: SiteKey) -> dict[str, object]:
    return {
        "id": key.id,
        "kind": key.kind.name.lower(),
        "origins": key.origins,
        "books": key.books,
        "label": key.label,
        "created_at": key.created_at,
    }
