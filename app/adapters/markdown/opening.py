"""Opens the site in a book's folder, or the site that a folder or file is a part of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from app.adapters.markdown.book_files import BookFiles
from app.adapters.markdown.docusaurus import site as docusaurus
from app.adapters.markdown.mdbook import site as mdbook
from app.adapters.markdown.mkdocs import site as mkdocs
from app.adapters.markdown.myst import site as myst
from app.adapters.markdown.plain import site as plain
from app.adapters.markdown.site_map import Layout, SiteGenerator, SitePage, SiteSettings, open_site
from app.domain.document import Site, SourceWarning
from app.domain.edition import ONLY, Edition
from app.domain.errors import BookError
from app.domain.surrogates import is_well_formed
from app.services.safe_paths import shown_name

_GENERATORS: Mapping[Site, SiteGenerator] = {
    module.GENERATOR.site: module.GENERATOR for module in (docusaurus, mdbook, mkdocs, myst, plain)
}
"""In the order in which a folder is searched for their configurations."""
_FOLDERS = 1_000
"""Maximum folders below a given one that are searched for a site."""
_LEVELS = 5
"""Folders above a given one that are searched for its site: Astro's pages are three below it."""


def open_folder(
    folder: Path, site: Site | None, base_url: str, edition: Edition = ONLY, part: str = ""
) -> tuple[BookFiles, Layout]:
    """Open an edition of the site in a folder, or a single file.

    If `site` is None, the site generator is detected from its configuration. Of a `part`, a file or
    folder in the site's, only the pages are in the layout.
    """
    if folder.is_file():
        if not is_well_formed(folder.name):
            raise BookError("the name is not UTF-8: rename the folder", shown_name(folder.name))
        chosen = site or (Site.DOCUSAURUS if folder.suffix == ".mdx" else Site.PLAIN)
        return BookFiles(folder.parent), open_page(chosen, folder.name, base_url)
    book_files = BookFiles(folder)
    generator = _GENERATORS[site or _site_of(book_files)]
    layout = open_site(generator, book_files, base_url, edition)
    layout = replace(layout, warnings=(*_of_another_site(generator, book_files), *layout.warnings))
    return book_files, _part_of(layout, part) if part else layout


def _of_another_site(generator: SiteGenerator, book_files: BookFiles) -> list[SourceWarning]:
    """Return a warning if the folder has no configuration of the generator, but another's."""
    found = _GENERATORS[_site_of(book_files)]
    if Site.PLAIN in (generator.site, found.site) or _config_of(generator, book_files):
        return []
    message = f"this is a site of {found.site}, read as one of {generator.site}: leave out --site"
    return [SourceWarning(message, _config_of(found, book_files), 1)]


def detected_site(folder: Path) -> tuple[Site, str]:
    """Return the generator of a folder's site, and the configuration that shows it, or ""."""
    book_files = BookFiles(folder)
    site = _site_of(book_files)
    return site, _config_of(_GENERATORS[site], book_files)


def site_below(folder: Path) -> tuple[Site, str] | None:
    """Return the generator and the folder of the first site one or two levels below."""
    special = [one for one in _GENERATORS.values() if one.site is not Site.PLAIN]
    below = islice(chain(folder.glob("[!.]*/"), folder.glob("[!.]*/[!.]*/")), _FOLDERS)
    for path in sorted(below, key=lambda path: (len(path.parts), path)):
        if found := _sites_in(path, special):
            return min(found), path.relative_to(folder).as_posix()
    return None


def _config_of(generator: SiteGenerator, book_files: BookFiles) -> str:
    return generator.find_config(book_files) or generator.find_config_below(book_files) or ""


def open_page(site: Site, file: str, base_url: str = "") -> Layout:
    """Return the layout of a single page, whose URL is the base URL."""
    return Layout(_GENERATORS[site], SiteSettings(base_url), (SitePage(file, base_url),))


@dataclass(frozen=True, slots=True)
class SitePart:
    """A file or folder in a site."""

    folder: Path
    """The site's."""
    path: str
    """Relative to `folder`."""
    site: Site
    edition: Edition
    """The first edition that has pages of this part."""


def site_around(path: Path, *, site: Site | None, edition: Edition = ONLY) -> SitePart | None:
    """Return the part of a site that a folder or file is; None if it is no such part.

    A folder with a configuration is a site itself. A configuration in a folder above counts if its
    site has pages in this one; the folders above a repository are not searched.
    """
    path = path.resolve()
    generators = [_GENERATORS[site]] if site else list(_GENERATORS.values())
    own = _sites_in(path, generators)
    if site in own or own - {Site.PLAIN}:
        return None
    for book_files, generator in _sites_above(
        path, [one for one in generators if one.site not in own]
    ):
        part = path.relative_to(book_files.root).as_posix()
        found = _edition_with(generator, book_files, edition, part)
        if found is not None:
            return SitePart(book_files.root, part, generator.site, found)
    return None


def _sites_in(path: Path, generators: Sequence[SiteGenerator]) -> set[Site]:
    if not path.is_dir():
        return set()
    book_files = BookFiles(path)
    return {one.site for one in generators if one.find_config(book_files)}


def _sites_above(
    path: Path, generators: Sequence[SiteGenerator]
) -> Iterator[tuple[BookFiles, SiteGenerator]]:
    folders = [BookFiles(folder) for folder in _folders_above(path)]
    places = [(book_files, one) for book_files in folders for one in generators]
    # A SUMMARY.md, such as mdBook's, or a `_config.yml` says less than any other configuration.
    for book_files, generator in sorted(places, key=lambda place: place[1].site is Site.PLAIN):
        if generator.find_config(book_files):
            yield book_files, generator


def _folders_above(path: Path) -> Iterator[Path]:
    """Yield the folders above a path, nearest first, up to its repository's."""
    if path.is_dir() and (path / ".git").exists():
        return
    for folder in islice(path.parents, _LEVELS):
        yield folder
        if (folder / ".git").exists():
            return


def _edition_with(
    generator: SiteGenerator, book_files: BookFiles, edition: Edition, part: str
) -> Edition | None:
    """Return the edition, or the first one of the site, that has pages in a part."""
    try:
        layout = open_site(generator, book_files, "", edition)
        if _part_of(layout, part).pages:
            return edition
        for other in layout.settings.editions if edition == ONLY else ():
            if _part_of(open_site(generator, book_files, "", other), part).pages:
                return other
    except BookError:
        pass  # no site that can be read: the part is read by itself
    return None


def _part_of(layout: Layout, part: str) -> Layout:
    """Leave out the pages outside a part; the site need not list those of a part that is given."""
    pages, orphans = (_inside(part, pages) for pages in (layout.pages, layout.orphans))
    return replace(layout, pages=pages or orphans, orphans=orphans if pages else ())


def _inside(part: str, pages: Sequence[SitePage]) -> tuple[SitePage, ...]:
    return tuple(page for page in pages if f"{page.file}/".startswith(f"{part}/"))


def _site_of(book_files: BookFiles) -> Site:
    """Return the site generator whose configuration the folder holds, else plain.

    One in a folder below counts only if there is none at the top; signs of a plain site, such as a
    SUMMARY.md, say less than any other configuration.
    """
    special = [one for one in _GENERATORS.values() if one.site is not Site.PLAIN]
    at_top = (one.site for one in special if one.find_config(book_files))
    below = (one.site for one in special if one.find_config_below(book_files))
    return next(at_top, None) or next(below, Site.PLAIN)
