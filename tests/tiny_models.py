"""Tiny ONNX models in the folders where fastembed's own would be."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper, save_model
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

EMBEDDER = "sentence-transformers/all-MiniLM-L6-v2"
RERANKER = "Xenova/ms-marco-MiniLM-L-6-v2"
DIMENSION = 384
RESERVED = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")


def write_embedder(folder: Path, words: Sequence[str]) -> None:
    """A token's vector has 1 at its word's place and 0.5 at that of the next token.

    The place of unknown words is the last one.
    """
    ids = "input_ids"
    table = np.zeros((len(RESERVED) + len(words), DIMENSION), np.float32)
    table[len(RESERVED) :, :][np.arange(len(words)), np.arange(len(words))] = 1
    table[RESERVED.index("[UNK]"), -1] = 1
    nodes = [
        helper.make_node("Gather", ["table", ids], ["own"]),
        helper.make_node("Slice", ["own", "from", "to", "axis"], ["later"]),
        helper.make_node("Pad", ["later", "pads"], ["next"]),
        helper.make_node("Mul", ["next", "half"], ["beside"]),
        helper.make_node("Add", ["own", "beside"], ["last_hidden_state"]),
    ]
    constants = {
        "table": table,
        "from": np.array([1]),
        "to": np.array([10**6]),
        "axis": np.array([1]),
        "pads": np.array([0, 0, 0, 0, 1, 0]),
        "half": np.array(0.5, np.float32),
    }
    shape: list[str | int] = ["batch", "tokens", DIMENSION]
    _write(folder / EMBEDDER / "model.onnx", nodes, constants, "last_hidden_state", shape)
    _write_tokenizer(folder / EMBEDDER, words, 64)


def write_reranker(folder: Path, words: Sequence[str]) -> None:
    """The logit is the number of words that question and text have in common, minus one."""
    table = np.eye(len(RESERVED) + len(words), dtype=np.float32)
    table[: len(RESERVED)] = 0
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["own"]),
        helper.make_node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["one", "second"], ["first"]),
        *_counts("first", "asked"),
        *_counts("second", "said"),
        helper.make_node("Mul", ["asked", "said"], ["both"]),
        helper.make_node("ReduceSum", ["both", "axis"], ["common"], keepdims=1),
        helper.make_node("Sub", ["common", "one"], ["logits"]),
    ]
    constants = {
        "table": table,
        "one": np.array(1, np.float32),
        "axis": np.array([1]),
        "last": np.array([2]),
    }
    _write(folder / RERANKER / "onnx/model.onnx", nodes, constants, "logits", ["batch", 1])
    _write_tokenizer(folder / RERANKER, words, 512)


def _counts(mask: str, name: str) -> list[NodeProto]:
    return [
        helper.make_node("Unsqueeze", [mask, "last"], [f"{name} mask"]),
        helper.make_node("Mul", ["own", f"{name} mask"], [f"{name} tokens"]),
        helper.make_node("ReduceMax", [f"{name} tokens", "axis"], [name], keepdims=0),
    ]


def _write(
    path: Path,
    nodes: Sequence[NodeProto],
    constants: dict[str, NDArray[np.generic]],
    output: str,
    shape: Sequence[str | int],
) -> None:
    path.parent.mkdir(parents=True)
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [
        helper.make_tensor_value_info(one, TensorProto.INT64, ["batch", "tokens"]) for one in names
    ]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
    held = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, held)
    opset = helper.make_opsetid("", 18)
    save_model(helper.make_model(graph, opset_imports=[opset], ir_version=9), path)


def _write_tokenizer(folder: Path, words: Sequence[str], longest: int) -> None:
    vocabulary = {word: number for number, word in enumerate((*RESERVED, *words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(one, vocabulary[one]) for one in ("[CLS]", "[SEP]")],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"model_max_length": longest, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}), "utf-8")
