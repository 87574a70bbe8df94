"""Answering: question analysis, extraction, verification of citations, refusal.

- the question: `request`, `intents`, `question_analysis`
- whether the book answers it: `answerability`
- chapters and exercises on request: `chapters`, `exercises`
- extractive answers: `units`, `relevance`, `passages`, `extractive`
- figures: `figures`
- citations: `citations`, `cited_answer`, `verification`
- suggestions: `follow_ups`
"""
