"""Built pages, as site generators make them."""

BASE = "https://owls.example/book/"


def page(body: str = "<p>Owls.</p>", head: str = "", title: str = "", lang: str = "en") -> str:
    return (
        f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title>'
        f"{head}</head><body>{body}</body></html>"
    )


def canonical(path: str, base: str = BASE) -> str:
    return f'<link rel="canonical" href="{base}{path}">'


def links(*targets: str) -> str:
    return "".join(f'<p><a href="{target}">{target}</a></p>' for target in targets)


def item(title: str, href: str) -> str:
    return f'<li><a href="{href}">{title}</a></li>'
