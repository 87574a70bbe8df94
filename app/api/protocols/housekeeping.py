"""Replies to what chat front ends ask a model besides questions: a title, tags, follow-ups.

The front ends send these prompts to the model of the conversation. They are no questions to a book.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_TITLE_CHARACTERS = 60
# Open WebUI's prompts begin with "### Task:" and name the key of the JSON object that they ask for.
_KEY = re.compile(r'"(title|tags|follow_ups|queries|text|prompt)"\s?:')
_EMPTY: dict[str, object] = {"tags": [], "follow_ups": [], "queries": [], "text": "", "prompt": ""}
_TITLE_WITH_LANGUAGE = re.compile(r"Analyze this conversation and provide:\s*1\. The detected lang")
_TITLE = re.compile(
    "|".join(
        (
            # Open WebUI before its prompts asked for JSON, and Page Assist
            r"(?:### Task:\s*)?(?:Generate|Create) a concise, 3-5 word (?:title|phrase)\b",
            r"Here is the query:.{0,20000}Create a concise, 3-5 word phrase as a title",
            # LibreChat
            r"(?:Provide|Please generate) a concise, 5-word-or-less title for the conversation",
            r"Please generate a concise title \(max 40 characters\) for a conversation that starts",
            # NextChat
            r"Please generate a four to five word title summarizing our conversation",
            # LobeChat
            r"You are a professional conversation summarizer\. Generate a concise title",
        )
    ),
    re.DOTALL,
)
_FIRST_USER = re.compile(r"^[^\w\n]{0,4}user[^\w\n]{0,4}: ?(\S.*)$", re.I | re.M)


def housekeeping_reply(messages: Sequence[tuple[str, str]]) -> str | None:
    """Return the reply to a front end's own prompt; None for a reader's question.

    `messages` are (role, text). The prompt is the last message or a system message.
    """
    systems = [text for role, text in messages if role in {"system", "developer"}]
    for prompt in (messages[-1][1].strip(), *systems):
        if key := _open_webui_key(prompt):
            return json.dumps({key: _EMPTY.get(key, _title(prompt, messages))}, ensure_ascii=False)
        if _TITLE_WITH_LANGUAGE.match(prompt):
            found = {"language": "", "title": _title(prompt, messages)}
            return json.dumps(found, ensure_ascii=False)
        if _TITLE.match(prompt):
            return _title(prompt, messages)
    return None


def _open_webui_key(prompt: str) -> str:
    if not prompt.startswith("### Task:") or "<chat_history>" not in prompt:
        return ""
    found = _KEY.search(prompt)
    return found[1] if found else ""


def _title(prompt: str, messages: Sequence[tuple[str, str]]) -> str:
    """Return the beginning of the reader's first message."""
    earlier = [text for role, text in messages if role == "user" and text.strip() != prompt]
    texts = (prompt, *earlier)
    quoted = next((found[1] for text in texts if (found := _FIRST_USER.search(text))), "")
    words = " ".join((quoted or next(iter(earlier), "Conversation")).split())
    if len(words) <= _TITLE_CHARACTERS:
        return words
    return words[:_TITLE_CHARACTERS].rsplit(" ", 1)[0] + "…"
