"""Greetings and thanks, which are answered without a search."""

from __future__ import annotations

from app.domain.terms import words

_GREETINGS = {
    "en": "hi hello hey hiya howdy there good morning afternoon evening day how are you today",
    "es": "hola buenos buenas días tardes noches qué tal",
    "de": "hallo servus moin guten morgen tag abend",
    "fr": "bonjour bonsoir salut",
    "pt": "olá oi bom boa dia tarde noite tudo bem",
    "it": "ciao salve buongiorno buonasera",
}
_THANKS = {
    "en": "thanks thank thx cheers ty you so very much a lot bye goodbye ok okay great cool nice "
    "perfect awesome that helps helped",
    "es": "gracias muchas adiós vale perfecto",
    "de": "danke dankeschön vielen dank schön sehr tschüss super",
    "fr": "merci beaucoup au revoir parfait",
    "pt": "obrigado obrigada muito tchau",
    "it": "grazie mille arrivederci perfetto",
}
_HEADS = frozenset(
    "hi hello hey hiya howdy good how hola buenos buenas hallo servus moin guten bonjour bonsoir "
    "salut olá oi bom boa ciao salve buongiorno buonasera thanks thank thx cheers ty bye goodbye "
    "ok okay great cool nice perfect awesome gracias muchas adiós vale danke dankeschön vielen "
    "tschüss merci au obrigado obrigada muito tchau grazie arrivederci".split()
)
"""What the first word must be: the others alone say nothing."""
_WELCOME = {
    "en": ("Hello! Ask me anything about the book.", "You are welcome! Ask on whenever you like."),
    "es": ("¡Hola! Pregúnteme lo que quiera sobre el libro.", "¡De nada! Pregunte cuando quiera."),
    "de": ("Hallo! Fragen Sie mich etwas zum Buch.", "Gern geschehen! Fragen Sie gern weiter."),
    "fr": ("Bonjour ! Posez-moi une question sur le livre.", "Je vous en prie !"),
    "pt": ("Olá! Pergunte o que quiser sobre o livro.", "De nada! Pergunte quando quiser."),
    "it": ("Ciao! Mi chieda quello che vuole sul libro.", "Prego! Chieda pure ancora."),
}


def small_talk_reply(question: str) -> str:
    """What to say to a greeting or to thanks; "" for anything else."""
    said = [*words(question)]
    if not said or said[0] not in _HEADS:
        return ""
    for which, table in enumerate((_GREETINGS, _THANKS)):
        for language, known in table.items():
            if set(said) <= set(known.split()):
                return _WELCOME[language][which]
    return ""
