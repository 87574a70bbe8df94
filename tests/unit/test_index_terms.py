"""BM25 vectors: terms of many languages and of code, weights, determinism."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.index_terms import IndexTerms, LanguageTerms
from app.domain.languages import FUNCTION_WORDS
from app.domain.retrieval.query import SparseVector
from app.services.lexical import FINGERPRINT, LexicalEncoder, document_vector
from tests.recorded_cases import case_lines

TERMS, ANOTHER = IndexTerms(), IndexTerms()
LEXICAL = LexicalEncoder(TERMS.of_document, TERMS.of_query)


def encoded(text: str, language: str = "en", terms: IndexTerms = TERMS) -> SparseVector:
    return document_vector(terms.of_document(text, language))


def shared(query: str, document: str, language: str = "en") -> int:
    """Number of the query's terms that the document has."""
    asked = LEXICAL.query_vector(query, language).indices
    return len(set(asked) & set(encoded(document, language).indices))


def terms(text: str, language: str = "en") -> list[str]:
    analyzer = LanguageTerms(language)
    return [term for run in text.split() for term in analyzer.terms(run)]


@pytest.mark.parametrize(("asked", "document"), case_lines("index_terms"))
def test_a_word_is_found_in_its_other_forms(asked: str, document: str) -> None:
    language, query = asked.split(": ", 1)
    assert shared(query, document, language) >= 1


@pytest.mark.parametrize(("text", "expected"), case_lines("symbols"))
def test_an_identifier_or_symbol_is_indexed_as_typed_and_by_parts(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


@pytest.mark.parametrize(
    "prose", ["What?", "end. Next", "a — b", "(see above)", "“so”", "- …", "*"]
)
def test_punctuation_of_prose_is_no_term(prose: str) -> None:
    assert not [term for term in terms(prose) if not term.isalnum()]


@pytest.mark.parametrize(
    ("one", "other"), [("basis", "bases"), ("synapsis", "synapse"), ("ammonia", "ammonium")]
)
def test_two_words_that_look_like_one_and_its_plural_stay_apart(one: str, other: str) -> None:
    assert terms(one) != terms(other)


def test_unspaced_writing_is_found_by_words_inside_a_sentence() -> None:
    sentence = "検索エンジンは日本語の文書を探します。"
    assert shared("日本語", sentence, "ja") == 2
    assert shared("語", sentence, "ja") == 1
    assert shared("中国語", sentence, "ja") == 0
    assert shared("ภาษาไทย", "เราเรียนภาษาไทยทุกวัน", "th") == 5
    assert shared("ไท", "เราเรียนภาษาไทยทุกวัน", "th") == 1
    assert shared("Python 検索", "Pythonで検索する", "ja") == 2


@pytest.mark.parametrize("language", FUNCTION_WORDS)
def test_function_words_are_left_out(language: str) -> None:
    text = " ".join(FUNCTION_WORDS[language])
    assert encoded(text, language) == SparseVector((), ())
    assert LEXICAL.query_vector(text, language) == SparseVector((), ())


def test_an_acronym_that_looks_like_a_function_word_is_kept() -> None:
    assert shared("US and WHO", "The WHO advised the US") == 2
    assert shared("who", "The WHO advised") == 0


def test_words_that_name_things_in_programs_are_kept() -> None:
    for word in ("if", "while", "not", "match", "self"):
        assert terms(word), word


def test_weights_follow_the_formula() -> None:
    vector = encoded("cell cell wall", "en")
    damping = 1.2 * (1 - 0.75 + 0.75 * 3 / 200)
    assert sorted(vector.values) == pytest.approx(
        sorted([1 * 2.2 / (1 + damping), 2 * 2.2 / (2 + damping)])
    )
    assert LEXICAL.query_vector("cell cell wall", "en").values == (1.0, 1.0)


IDS = (
    51_194_901,
    853_751_801,
    1_415_673_859,
    2_676_617_607,
    2_713_457_912,
    3_745_812_843,
)


def test_ids_are_the_same_in_every_process_and_release() -> None:
    # A change here makes every index stale: change `fingerprint` with it.
    assert LEXICAL.query_vector("photosynthesis useSelector &mut", "en").indices == IDS
    assert (TERMS.fingerprint, FINGERPRINT) == ("terms-7", "bm25/1.2/0.75/200.0 definitions-6")


@given(st.text(max_size=200), st.sampled_from(["en", "fr", "ar", "hi", "ja", "tr", ""]))
def test_any_text_gives_a_valid_vector_and_finds_itself(text: str, language: str) -> None:
    document = encoded(text, language)
    query = LEXICAL.query_vector(text, language)
    for vector in (document, query):
        assert list(vector.indices) == sorted(set(vector.indices))
        assert len(vector.indices) == len(vector.values)
        assert all(0 <= index < 2**32 for index in vector.indices)
        assert all(0 < value <= 2.2 for value in vector.values)
    assert set(query.indices) <= set(document.indices)
    assert encoded(text, language, ANOTHER) == document


def test_threads_share_one_encoder() -> None:
    texts = [f"running tests {number} of useSelector{number} canciones" for number in range(400)]
    expected = [encoded(text, "es", IndexTerms()) for text in texts]
    shared = IndexTerms()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: encoded(text, "es", shared), texts))
    assert found == expected


@pytest.mark.parametrize("word", ["cells", "DNA", "RNAs", "Us", "the", "x", "42"])
@pytest.mark.parametrize("around", ['"{}"', "({})", "[{}].", "{}:", "{}?", "({}),", '"{},"', "{}!"])
def test_the_punctuation_of_running_text_leaves_a_word_its_term(word: str, around: str) -> None:
    """Nor does it make one of its own."""
    assert terms(around.format(word)) == terms(word)
