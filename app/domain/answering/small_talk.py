"""Greetings and thanks, which get a fixed reply."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.answering.notices import GREETING, WELCOME

_SMALL_TALK = (
    (
        GREETING,
        {
            "en": "hi hello hey hiya howdy good how | there morning afternoon evening day are you"
            " today",
            "es": "hola buenos buenas | días tardes noches qué tal",
            "de": "hallo servus moin guten | morgen tag abend",
            "fr": "bonjour bonsoir salut |",
            "pt": "olá oi bom boa | dia tarde noite tudo bem",
            "it": "ciao salve buongiorno buonasera |",
        },
    ),
    (
        WELCOME,
        {
            "en": "thanks thank thx cheers ty bye goodbye ok okay great cool nice perfect awesome |"
            " you so very much a lot that helps helped",
            "es": "gracias muchas adiós vale | perfecto",
            "de": "danke dankeschön vielen tschüss | dank schön sehr super",
            "fr": "merci au | beaucoup revoir parfait",
            "pt": "obrigado obrigada muito tchau |",
            "it": "grazie | mille arrivederci perfetto",
        },
    ),
)
"""Replies, and by language the words of what they reply to: a first word | further ones."""


def small_talk_reply(said: Sequence[str]) -> str:
    """Return the reply to a greeting or thanks of these words; "" for anything else."""
    for replies, languages in _SMALL_TALK:
        for language, known in languages.items():
            first, more = (listed.split() for listed in known.split("|"))
            if said and said[0] in first and {*first, *more}.issuperset(said):
                return replies[language]
    return ""
