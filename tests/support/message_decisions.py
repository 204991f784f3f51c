"""Find code that decides by the text of a message: in the syntax tree, without running anything.

A message is what an error says (`str(error)`, `error.args`), a name or field that holds such a text (`message`,
`reason`, `title`, `fix`, `document["warning"]`), or a variable or parameter that got one in the same module.
Constants of other modules are resolved: `reason == credentials.BOUND` compares with a sentence, `reason == REQUEST`
with a code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

MESSAGES = frozenset(
    {
        *("advice", "detail", "explanation", "fix", "hint", "message", "message_primary", "note", "notice"),
        *("problem", "reason", "reissue", "title", "warning", "why"),
    }
)
"""Names of variables, attributes and JSON fields that hold text for users."""
TEXTS = frozenset({"messages", "notes", "notices", "problems", "reasons", "said", "told", "warnings"})
"""Names of collections of such texts."""
ERRORS = frozenset({"error", "exc", "exception", "failure", "refusal", "refused"})
CODES = frozenset({"code", "form", "kind", "name", "runtime", "scope", "state", "type", "version"})
"""Names that may be compared with a constant with spaces in it, because they hold codes: the kind of a file format is
one."""
_SEARCHES = frozenset(
    {
        *("count", "endswith", "find", "index", "partition", "removeprefix", "removesuffix"),
        *("rfind", "rindex", "rpartition", "split", "startswith"),
    }
)
_PATTERNS = frozenset({"findall", "finditer", "fullmatch", "match", "search"})
_SAME_TEXT = frozenset({"casefold", "lower", "strip", "upper", "splitlines"})
_PHRASE = re.compile(r"[A-Za-z]{2,}[,;:]? +[A-Za-z]|[A-Za-z]{2,} $")
_SENTENCE = re.compile(r"[A-Za-z]+[,;:]? +[A-Za-z]+[,;:]? +[A-Za-z]")


class Decision(NamedTuple):
    """A place that decides by a text."""

    module: str
    function: str
    line: int
    source: str


def decisions(sources: Mapping[str, str]) -> list[Decision]:
    """Return the places in modules, given by their dotted names."""
    trees = {name: ast.parse(text) for name, text in sources.items()}
    constants = _Constants(trees)
    return [found for name, tree in trees.items() for found in _Module(name, tree, constants).decisions()]


class _Constants:
    """Strings that names of a module stand for, including names defined in other modules."""

    def __init__(self, trees: Mapping[str, ast.Module]) -> None:
        self._values: dict[tuple[str, str], ast.expr] = {}
        self._imports: dict[tuple[str, str], tuple[str, str]] = {}
        for module, tree in trees.items():
            self._read(module, tree.body, "")
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module:
                    for each in node.names:
                        self._imports[module, each.asname or each.name] = node.module, each.name

    def _read(self, module: str, body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                self._read(module, node.body, f"{node.name}.")
            targets = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, ast.AnnAssign) and node.value is not None:
                targets = [node.target]
            for target in targets:
                self._assign(module, prefix, target, node.value)  # type: ignore[attr-defined]

    def _assign(self, module: str, prefix: str, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._values[module, prefix + target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, its in zip(target.elts, value.elts, strict=True):
                self._assign(module, prefix, one, its)

    def strings(self, module: str, node: ast.expr | None, depth: int = 0) -> list[str]:
        """Yield every string that an expression may be or be built of, and the keys of a mapping."""
        if node is None or depth > 8:
            return []
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, ast.Name):
            return self._named(module, node.id, depth)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            own = self._named(module, f"{node.value.id}.{node.attr}", depth)
            where, name = self._imports.get((module, node.value.id), ("", ""))
            there = self._named(f"{where}.{name}", node.attr, depth) or self._named(where, f"{name}.{node.attr}", depth)
            return own or there
        parts: list[ast.expr | None] = []
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = list(node.elts)
        elif isinstance(node, ast.Dict):
            parts = list(node.keys)
        elif isinstance(node, ast.JoinedStr):
            parts = list(node.values)
        elif isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Starred):
            parts = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("frozenset", "set"):
            parts = list(node.args)
        return [text for part in parts for text in self.strings(module, part, depth + 1)]

    def _named(self, module: str, name: str, depth: int) -> list[str]:
        if (module, name) in self._values:
            return self.strings(module, self._values[module, name], depth + 1)
        where = self._imports.get((module, name))
        return [] if where is None else self._named(*where, depth + 1) if depth < 8 else []


class _Module:
    def __init__(self, name: str, tree: ast.Module, constants: _Constants) -> None:
        self._name, self._tree, self._constants = name, tree, constants
        self._messages: frozenset[str] = frozenset()
        self._calls = [
            each for each in ast.walk(tree) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
        ]
        self._iterated: dict[str, ast.expr] = {}

    def decisions(self) -> Iterator[Decision]:
        yield from self._in("", self._tree)

    def _in(self, function: str, body: ast.AST) -> Iterator[Decision]:
        """Yield the decisions of a function and, under its name, those of nested definitions."""
        nodes = list(_own_nodes(body))
        self._messages = frozenset((*_assigned_messages(nodes), *self._given_messages(body)))
        self._iterated = {
            each.target.id: each.iter
            for each in nodes
            if isinstance(each, ast.comprehension | ast.For) and isinstance(each.target, ast.Name)
        }
        for node in nodes:
            if self._decides(node):
                yield Decision(self._name, function, node.lineno, ast.unparse(node))  # type: ignore[attr-defined]
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from self._in(f"{function}.{node.name}".lstrip("."), node)

    def _given_messages(self, function: ast.AST) -> Iterator[str]:
        """Yield the parameters for which the module passes messages to a function."""
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for call in self._calls:
                if isinstance(call.func, ast.Name) and call.func.id == function.name:
                    given = zip(function.args.args, call.args, strict=False)
                    yield from (parameter.arg for parameter, value in given if _is_message(value))

    def _decides(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            return any(self._compares(*each) for each in zip(sides, node.ops, sides[1:], strict=False))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self._searches(node.func, node.args)
        if isinstance(node, ast.Subscript):
            return self._is_message(node.slice) and self._has(_PHRASE, node.value)
        return isinstance(node, ast.MatchValue) and self._has(_SENTENCE, node.value)

    def _compares(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> bool:
        if not isinstance(operator, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
            return False
        if isinstance(left, ast.Tuple) and isinstance(right, ast.Tuple) and isinstance(operator, ast.Eq | ast.NotEq):
            return any(self._compares(one, operator, its) for one, its in zip(left.elts, right.elts, strict=False))
        for one, other in ((left, right), (right, left)):
            if self._has(_SENTENCE, one) and not _is_code(other):
                return True
            if self._is_message(one) and self._has(_PHRASE, other):
                return True
        if isinstance(operator, ast.In | ast.NotIn):
            return self._is_message(right) or (self._is_message(left) and self._are_texts(right))
        return self._is_message(left) and self._is_message(right)

    def _searches(self, method: ast.Attribute, arguments: list[ast.expr]) -> bool:
        if method.attr in _SEARCHES and arguments:
            return self._is_message(method.value) or self._has(_PHRASE, arguments[0])
        if method.attr in _PATTERNS:
            return any(map(self._is_message, arguments))
        is_lookup = method.attr == "get" and bool(arguments) and self._is_message(arguments[0])
        return is_lookup and self._has(_PHRASE, method.value)

    def _has(self, pattern: re.Pattern[str], node: ast.expr) -> bool:
        """Return True if an expression stands for a phrase or for a collection of phrases."""
        if isinstance(node, ast.Name) and node.id in self._iterated:
            node = self._iterated[node.id]
        return any(map(pattern.search, self._constants.strings(self._name, node)))

    def _are_texts(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name) and node.id in self._iterated:
            node = self._iterated[node.id]
        return _last_name(node).lstrip("_") in TEXTS

    def _is_message(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in MESSAGES or node.id in self._messages
        return _is_message(node)


def _own_nodes(body: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function or class without those of nested definitions."""
    for node in ast.iter_child_nodes(body):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _own_nodes(node)


def _assigned_messages(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Assign | ast.NamedExpr) and node.value is not None and _is_message(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (each.id for each in targets if isinstance(each, ast.Name))


def _is_message(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id in MESSAGES
    if isinstance(node, ast.Attribute):
        return node.attr in MESSAGES or (node.attr == "args" and _last_name(node.value) in ERRORS)
    if isinstance(node, ast.Subscript):
        return _last_name(node) in MESSAGES or (_last_name(node.value) == "args" and _is_message(node.value))
    if isinstance(node, ast.BoolOp):
        return any(map(_is_message, node.values))
    if isinstance(node, ast.NamedExpr):
        return _is_message(node.value)
    if isinstance(node, ast.Call):
        of_error = node.args[:1] and (_last_name(node.args[0]) in ERRORS or _is_message(node.args[0]))
        if isinstance(node.func, ast.Name):
            return node.func.id in ("str", "repr") and bool(of_error)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_TEXT:
            return _is_message(node.func.value)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "getMessage":
            return True
        return _last_name(node) in MESSAGES
    return False


def _is_code(node: ast.expr) -> bool:
    name = _last_name(node)
    return name in CODES or name.endswith("_code")


def _last_name(node: ast.expr) -> str:
    """Return the last name of an expression: `x`, `a.x`, `a["x"]` and `a.get("x")` all give `x`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    key: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        key = node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        key = node.args[0]
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
