"""The changes that mutate.py makes to a file, one at a time.

Mutated are comparisons, arithmetic, numbers, truth values, conditions, returned values, single
statements, arguments, and min against max. Left alone are texts (docstrings, errors, f-strings),
annotations, decorators, imports, ``__all__`` and ``__repr__``.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
REMOVABLE = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True)
class Mutant:
    """One change of one file: ``place`` is the changed node's number in a walk of its tree."""

    file: str
    line: int
    scope: str
    place: int
    kind: str
    variant: int
    change: str

    @property
    def name(self) -> str:
        """The same as long as the code around is: no line numbers."""
        return f"{self.file} {self.scope}: {self.change}"


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """All mutants of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    numbers = {id(node): number for number, node in enumerate(ast.walk(tree))}
    found = []
    for node, scope, statement in _visit(tree, "", None):
        for kind, variant in _kinds(node):
            shown = copy.deepcopy(statement)
            twin = _twin(statement, shown, node)
            changed = _mutate(shown, twin, kind, variant)
            change = _difference(_short(statement), _short(changed))
            where = path.relative_to(root).as_posix()
            line = getattr(node, "lineno", statement.lineno)
            found.append(Mutant(where, line, scope, numbers[id(node)], kind, variant, change))
    return found


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """The tree of a file with one change."""
    tree = ast.parse(source)
    node = next(node for number, node in enumerate(ast.walk(tree)) if number == mutant.place)
    return ast.fix_missing_locations(_mutate(tree, node, mutant.kind, mutant.variant))  # type: ignore[return-value]


def _visit(
    node: ast.AST, scope: str, statement: ast.stmt | None
) -> Iterator[tuple[ast.AST, str, ast.stmt]]:
    """The nodes that may change, where they stand, and the statement that they are part of."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr) or _is_all(node):
        return
    if isinstance(node, ast.stmt):
        statement = node
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        if node.name == "__repr__":
            return
        scope = f"{scope}.{node.name}".lstrip(".")
    if statement is not None:
        yield node, scope, statement
    if isinstance(node, ast.Raise | ast.Assert):
        return
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "ctx"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _visit(child, scope, statement)


def _is_all(node: ast.AST) -> bool:
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return isinstance(node, ast.Assign | ast.AnnAssign) and any(
        isinstance(target, ast.Name) and target.id == "__all__" for target in targets
    )


def _kinds(node: ast.AST) -> Iterator[tuple[str, int]]:
    """In how many ways a node can change."""
    match node:
        case ast.Compare():
            yield from (("compare", i) for i in range(len(node.ops)))
        case ast.BinOp() | ast.AugAssign() if type(node.op) in ARITHMETIC:
            yield "arithmetic", 0
        case ast.Constant(value=bool() | int() | float()):
            yield "constant", 0
        case ast.BoolOp():
            yield "and-or", 0
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "unary", 0
        case ast.Return(value=ast.expr() as value):
            if not (isinstance(value, ast.Constant) and value.value is None):
                yield "return", 0
        case ast.Name(id=name) if name in NAMES:
            yield "name", 0
        case ast.Attribute(attr=name) if name in NAMES:
            yield "attribute", 0
        case ast.Call():
            yield from (("keyword", i) for i, k in enumerate(node.keywords) if k.arg)
            if len(node.args) > 1:
                yield "argument", len(node.args) - 1
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "condition", 0
    if isinstance(node, ast.comprehension):
        yield from (("filter", i) for i in range(len(node.ifs)))
    if isinstance(node, REMOVABLE) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield "remove", 0
    if isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple):
        yield "remove", 0


def _mutate(tree: ast.AST, node: ast.AST, kind: str, variant: int) -> ast.AST:
    """The tree with its node changed; the node is the tree's own."""
    new: Any = node
    anything: Any = node
    match kind:
        case "compare":
            anything.ops[variant] = COMPARISONS[type(anything.ops[variant])]()
        case "arithmetic":
            anything.op = ARITHMETIC[type(anything.op)]()
        case "constant":
            value = anything.value
            anything.value = not value if isinstance(value, bool) else value + 1
        case "and-or":
            anything.op = ast.Or() if isinstance(anything.op, ast.And) else ast.And()
        case "unary":
            new = anything.operand
        case "return":
            anything.value = ast.Constant(None)
        case "name":
            anything.id = NAMES[anything.id]
        case "attribute":
            anything.attr = NAMES[anything.attr]
        case "keyword":
            del anything.keywords[variant]
        case "argument":
            del anything.args[variant]
        case "condition":
            anything.test = ast.UnaryOp(ast.Not(), anything.test)
        case "filter":
            anything.ifs[variant] = ast.UnaryOp(ast.Not(), anything.ifs[variant])
        case "remove":
            new = ast.Pass()
    if new is node:
        return tree
    if node is tree:
        whole: ast.AST = ast.copy_location(new, node)
        return whole

    class Put(ast.NodeTransformer):
        def visit(self, other: ast.AST) -> Any:
            return ast.copy_location(new, node) if other is node else self.generic_visit(other)

    changed: ast.AST = Put().visit(tree)
    return changed


def _twin(one: ast.AST, other: ast.AST, node: ast.AST) -> ast.AST:
    """The node of ``other``, a copy of ``one``, that stands where ``node`` does."""
    pairs = zip(ast.walk(one), ast.walk(other), strict=True)
    return next(theirs for ours, theirs in pairs if ours is node)


def _difference(one: str, other: str, around: int = 30) -> str:
    """What differs between two texts, with some of the text around it."""
    start = _alike(one, other)
    end = _alike(one[start:][::-1], other[start:][::-1])
    before, after = max(0, start - around), max(0, end - around)
    parts = [text[before : len(text) - after] for text in (one, other)]
    cut = [("..." if before else "") + part + ("..." if after else "") for part in parts]
    return " -> ".join(cut).replace("\n", " ")


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _short(node: ast.AST) -> str:
    """A statement without the block below it."""
    if hasattr(node, "body") and isinstance(node.body, list):
        node = copy.copy(node)
        node.body, node.orelse = [ast.Pass()], []  # type: ignore[attr-defined]
    return ast.unparse(ast.fix_missing_locations(node)).replace(":\n    pass", ":")
