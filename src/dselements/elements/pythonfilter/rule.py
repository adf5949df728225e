"""The rule language: a small, safe expression over the columns of all objects.

Python's own parser reads the rule; only the nodes listed here are accepted, types are checked,
and the result is a tree of numpy operations. Nothing is evaluated as Python.

Numbers follow IEEE 754: a division by zero gives infinity or NaN, and a comparison with NaN is
false.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from ...errors import RuleSyntaxError

__all__ = ["COLUMNS", "FUNCTIONS", "Rule", "compile_rule"]

MAX_LENGTH = 4096
MAX_DEPTH = 50

NUMBER, TEXT, BOOL = "number", "text", "true or false"

COLUMNS: dict[str, str] = {
    "confidence": NUMBER, "tracker_confidence": NUMBER, "class_id": NUMBER, "object_id": NUMBER,
    "unique_component_id": NUMBER, "left": NUMBER, "top": NUMBER, "width": NUMBER,
    "height": NUMBER, "right": NUMBER, "bottom": NUMBER, "area": NUMBER, "center_x": NUMBER,
    "center_y": NUMBER, "source_id": NUMBER, "pad_index": NUMBER, "frame_num": NUMBER,
    "parent": NUMBER, "tracked": BOOL, "label": TEXT,
}  # fmt: skip
"""Names that a rule may use, and their types. ``parent`` is -1 where there is none."""

FUNCTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "abs": ((NUMBER,), NUMBER),
    "min": ((NUMBER, NUMBER), NUMBER),
    "max": ((NUMBER, NUMBER), NUMBER),
    "startswith": ((TEXT, TEXT), BOOL),
    "endswith": ((TEXT, TEXT), BOOL),
    "contains": ((TEXT, TEXT), BOOL),
    "lower": ((TEXT,), TEXT),
}
"""Functions: types of the arguments, type of the result."""

Values = Any
Evaluate = Callable[[Any], Values]


class _Typed(NamedTuple):
    kind: str
    run: Evaluate


class Rule(NamedTuple):
    """A compiled rule."""

    text: str
    names: frozenset[str]
    """Columns that it reads."""
    run: Evaluate

    def __call__(self, columns: Any) -> npt.NDArray[np.bool_]:
        """True for the objects to keep, bool (n,); ``columns`` is ``batch.objects`` or alike."""
        with np.errstate(all="ignore"):
            result = np.asarray(self.run(columns), bool)
        kept: npt.NDArray[np.bool_] = np.broadcast_to(result, (len(columns),)).copy()
        return kept


def compile_rule(text: str) -> Rule:
    """Compile a rule such as ``confidence > 0.6 and label in ("car", "bus")``.

    :raises RuleSyntaxError: showing the place with a caret, for anything else than the language.
    """
    return _Compiler(text).compile()


def _texts(function: Callable[[str], Any]) -> Callable[[Values], Values]:
    def run(values: Values) -> Values:
        if isinstance(values, str):
            return function(values)
        # One call for each distinct label.
        known = {value: function(value) for value in set(values.tolist())}
        items = [known[value] for value in values.tolist()]
        kind = object if items and isinstance(items[0], str) else bool
        return np.array(items, kind)

    return run


_ARITHMETIC: dict[type[ast.operator], Callable[[Values, Values], Values]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Values, Values], Values]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}


class _Compiler:
    def __init__(self, text: str) -> None:
        self.text = text
        self.names: set[str] = set()
        self.depth = 0

    def compile(self) -> Rule:
        if len(self.text) > MAX_LENGTH:
            raise RuleSyntaxError(f"the rule has {len(self.text)} characters, {MAX_LENGTH} at most")
        source = self.text.replace("\n", " ").replace("\r", " ")
        self.text = source
        self.shift = len(source) - len(source.lstrip())
        try:
            tree = ast.parse(source.lstrip(), mode="eval")
        except SyntaxError as error:
            # An error at the end is reported on the line after, or at offset 0.
            ended = not error.offset or (error.lineno or 1) > 1
            column = len(source) if ended else (error.offset or 1) - 1 + self.shift
            self._fail_at(min(column, len(source)), error.msg or "invalid syntax")
        except (ValueError, MemoryError, RecursionError) as error:
            self._fail_at(0, str(error) or "nested too deeply")
        result = self._node(tree.body)
        if result.kind != BOOL:
            quoted = isinstance(tree.body, ast.Constant) and isinstance(tree.body.value, str)
            self._fail(
                tree.body,
                f"the rule gives a {result.kind}, not {BOOL}",
                "leave out the quotes around the whole rule" if quoted else "",
            )
        return Rule(source, frozenset(self.names), result.run)

    # -- errors --------------------------------------------------------------
    def _fail(self, node: ast.AST, why: str, hint: str = "") -> NoReturn:
        line = self.text[self.shift :]
        offset = getattr(node, "col_offset", 0)
        # ast counts bytes of UTF-8.
        column = len(line.encode()[:offset].decode("utf-8", "ignore"))
        self._fail_at(column + self.shift, why, hint)

    def _fail_at(self, column: int, why: str, hint: str = "") -> NoReturn:
        raise RuleSyntaxError(f"{why}\n  {self.text}\n  {' ' * column}^", hint=hint)

    # -- nodes -----------------------------------------------------------------
    def _node(self, node: ast.expr) -> _Typed:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._fail(node, "nested too deeply")
        try:
            method = getattr(self, f"_{type(node).__name__.lower()}", None)
            if method is None:
                self._fail(node, f"{_spoken(node)} not allowed in a rule")
            result: _Typed = method(node)
            return result
        finally:
            self.depth -= 1

    def _need(self, node: ast.expr, kind: str) -> _Typed:
        result = self._node(node)
        if result.kind != kind:
            self._fail(node, f"a {kind} is needed here, this is a {result.kind}")
        return result

    def _constant(self, node: ast.Constant) -> _Typed:
        value = node.value
        if isinstance(value, bool):
            return _Typed(BOOL, lambda _: value)
        if isinstance(value, (int, float)):
            try:
                number = np.uint64(value) if isinstance(value, int) and value >= 2**63 else value
                np.asarray(number) + 0
            except (OverflowError, TypeError):
                self._fail(node, "this number is too large")
            return _Typed(NUMBER, lambda _: number)
        if isinstance(value, str):
            return _Typed(TEXT, lambda _: value)
        self._fail(node, f"{value!r} is not allowed in a rule")

    def _name(self, node: ast.Name) -> _Typed:
        name = node.id
        kind = COLUMNS.get(name)
        if kind is None:
            near = difflib.get_close_matches(name, [*COLUMNS, *FUNCTIONS], 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(COLUMNS)}"
            self._fail(node, f"unknown name {name!r}", hint)
        self.names.add(name)
        return _Typed(kind, lambda columns: getattr(columns, name))

    def _boolop(self, node: ast.BoolOp) -> _Typed:
        parts = [self._need(value, BOOL).run for value in node.values]
        join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or

        def run(columns: Any) -> Values:
            result = parts[0](columns)
            for part in parts[1:]:
                result = join(result, part(columns))
            return result

        return _Typed(BOOL, run)

    def _unaryop(self, node: ast.UnaryOp) -> _Typed:
        if isinstance(node.op, ast.Not):
            inner = self._need(node.operand, BOOL).run
            return _Typed(BOOL, lambda columns: np.logical_not(inner(columns)))
        if isinstance(node.op, (ast.USub, ast.UAdd)):
            value = self._need(node.operand, NUMBER).run
            if isinstance(node.op, ast.UAdd):
                return _Typed(NUMBER, value)
            return _Typed(NUMBER, lambda columns: np.negative(_number(value(columns))))
        self._fail(node, "the operator ~ is not allowed in a rule")

    def _binop(self, node: ast.BinOp) -> _Typed:
        operation = _ARITHMETIC.get(type(node.op))
        if operation is None:
            self._fail(node, "this operator is not allowed in a rule", "use + - * / // %")
        left, right = self._need(node.left, NUMBER).run, self._need(node.right, NUMBER).run
        return _Typed(
            NUMBER,
            lambda columns: operation(_number(left(columns)), _number(right(columns))),
        )

    def _compare(self, node: ast.Compare) -> _Typed:
        operands = [node.left, *node.comparators]
        tests: list[Evaluate] = []
        left = self._node(node.left)
        for index, operator in enumerate(node.ops):
            right_node = operands[index + 1]
            if isinstance(operator, (ast.In, ast.NotIn)):
                tests.append(self._membership(left, operator, right_node))
                if index + 1 < len(node.ops):
                    self._fail(right_node, "nothing can follow a list in a comparison")
                break
            right = self._node(right_node)
            tests.append(self._comparison(node, operator, left, right, right_node))
            left = right

        def run(columns: Any) -> Values:
            result = tests[0](columns)
            for test in tests[1:]:
                result = np.logical_and(result, test(columns))
            return result

        return _Typed(BOOL, run)

    def _comparison(
        self, node: ast.Compare, operator: ast.cmpop, a: _Typed, b: _Typed, right: ast.expr
    ) -> Evaluate:
        compare = _COMPARE.get(type(operator))
        if compare is None:
            self._fail(right, "'is' is not allowed in a rule", "use == or !=")
        if a.kind != b.kind:
            self._fail(right, f"a {a.kind} cannot be compared with a {b.kind}")
        if a.kind != NUMBER and not isinstance(operator, (ast.Eq, ast.NotEq)):
            self._fail(right, f"a {a.kind} can only be compared by == and !=")
        return lambda columns: compare(a.run(columns), b.run(columns))

    def _membership(self, left: _Typed, operator: ast.cmpop, node: ast.expr) -> Evaluate:
        if not isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            self._fail(node, "'in' needs a list", 'such as ("car", "bus")')
        items = []
        for item in node.elts:
            value = item.operand if isinstance(item, ast.UnaryOp) else item
            if not isinstance(value, ast.Constant):
                self._fail(item, "a list holds numbers or strings only")
            typed = self._node(item)
            if typed.kind != left.kind:
                self._fail(item, f"a {left.kind} cannot be in a list with a {typed.kind}")
            items.append(typed.run(None))
        negate = isinstance(operator, ast.NotIn)
        members: Any = frozenset(items) if left.kind == TEXT else np.array(items)
        isin = _texts(lambda value: value in members)

        def run(columns: Any) -> Values:
            values = left.run(columns)
            found = isin(values) if left.kind == TEXT else np.isin(values, members)
            return np.logical_not(found) if negate else found

        return run

    def _call(self, node: ast.Call) -> _Typed:
        if not isinstance(node.func, ast.Name):
            self._fail(node, "only functions can be called", f"known: {', '.join(FUNCTIONS)}")
        name = node.func.id
        if name not in FUNCTIONS:
            near = difflib.get_close_matches(name, FUNCTIONS, 1)
            self._fail(
                node,
                f"unknown function {name!r}",
                f"did you mean {near[0]}?" if near else f"known: {', '.join(FUNCTIONS)}",
            )
        kinds, result = FUNCTIONS[name]
        if node.keywords or len(node.args) != len(kinds):
            self._fail(node, f"{name} takes {len(kinds)} value{'s' * (len(kinds) > 1)}")
        args = [self._need(arg, kind) for arg, kind in zip(node.args, kinds, strict=True)]
        if name in ("startswith", "endswith", "contains"):
            if not isinstance(node.args[1], ast.Constant):
                self._fail(node.args[1], f"the second value of {name} is a string")
            part = node.args[1].value
            test = {
                "startswith": lambda value: value.startswith(part),
                "endswith": lambda value: value.endswith(part),
                "contains": lambda value: part in value,
            }[name]
            each = _texts(test)
            return _Typed(result, lambda columns: each(args[0].run(columns)))
        if name == "lower":
            lower = _texts(str.lower)
            return _Typed(result, lambda columns: lower(args[0].run(columns)))
        function: Any = {"abs": np.abs, "min": np.minimum, "max": np.maximum}[name]
        return _Typed(
            result, lambda columns: function(*(_number(arg.run(columns)) for arg in args))
        )


def _number(values: Values) -> Values:
    """Numbers as float64: integer columns would wrap around below 0."""
    return np.asarray(values, np.float64)


def _spoken(node: ast.AST) -> str:
    names = {
        "Attribute": "attributes are", "Lambda": "lambda is", "IfExp": "if/else is",
        "ListComp": "comprehensions are", "SetComp": "comprehensions are",
        "DictComp": "comprehensions are", "GeneratorExp": "comprehensions are",
        "NamedExpr": ":= is", "JoinedStr": "f-strings are", "Subscript": "[ ] is",
        "Tuple": "a list here is", "List": "a list here is", "Set": "a list here is",
        "Await": "await is", "Yield": "yield is", "Starred": "* is", "Dict": "a dict is",
    }  # fmt: skip
    return names.get(type(node).__name__, f"{type(node).__name__} is")
