"""Other forms of a module: its text as other people would have written it, with one meaning.

A policy that has met one spelling learns the spelling. `restyled` draws operators, functions, methods or submodules for each
operation, lines or one expression, helpers, constants that the constructor takes, names, annotations, docstrings, comments,
imports and inputs. Rules are pairs of expressions in `SAME`: to add a spelling is to add a string there. Everything follows
from the seed and the text.
"""

import ast
import random
import re
from collections.abc import Iterable, Iterator

from kernelwright.train.data.spellings import table

TABLE = table("forms")
SAME = TABLE["same"]
"""Expressions that mean the same. `b` stands for any expression, `c` to `e` for numbers, `a` for what is none. The first of a
row is looked for, rows before others; a module that is made and called becomes a submodule."""
COMPOSED = tuple(ast.parse(row[0], mode="eval").body for row in SAME)
OPERATORS = ("a + b", "a - b", "a * b", "a / b")
ARITHMETIC = 0.12
"""Share of plain operators that become functions: few people write so."""
VALUES = TABLE["values"]
ARGUMENTS = TABLE["arguments"]
LAYERS = TABLE["layers"]
NUMBERS = TABLE["numbers"]
HELPERS = TABLE["helpers"]
WORDS = TABLE["words"]
REMARKS = TABLE["remarks"]
SIZES = TABLE["sizes"]
HEADS = TABLE["heads"]
TENSOR = "torch.Tensor"
SHARES = (0.3, 0.3, 0.6, 0.4, 0.6, 0.5, 0.5)
"""Of modules with numbers in the constructor, a helper, other names, types, docstrings, other inputs, named sizes."""


def restyled(source: str, seed: int | str) -> str:
    """The text of the same module in another form.

    Args:
        source: As `random_module` writes it.
        seed: Everything follows from it and the text.
    """
    return _Form(source, random.Random(f"{seed} {source}")).written()


class _Form:
    """One form of one module."""

    def __init__(self, source: str, draw: random.Random) -> None:
        self.draw = draw
        self.tree = ast.parse(source)
        self.model = next(n for n in self.tree.body if isinstance(n, ast.ClassDef))
        self.forward = _function(self.model, "forward")
        self.made: dict[str, str] = {}
        """Attributes of the constructor: what each is set to."""
        self.given: dict[str, ast.expr] = {}
        """Of these, arguments of the constructor, with their values."""

    def written(self) -> str:
        """The text."""
        draw, body = self.draw, self.forward.body
        self.forward.body = list(_nested(body, draw, draw.choice((0.0, 0.35, 0.35, 0.9))))
        for each in self.forward.body:
            _Spelling(self, draw.choice((0.2, 0.6, 0.9)), draw.choice((0.0, 0.3, 0.8))).visit(each)
        ast.fix_missing_locations(self.tree)
        steps = (self.numbers, self.split, self.rename, self.annotate, self.document, self.inputs, self.sizes)
        for step, share in zip(steps, SHARES, strict=True):
            if draw.random() < share:
                step()
        self.construct()
        return self.remarked(self.headed())

    def keep(self, names: Iterable[str], value: str) -> str:
        """The expression of an attribute that has this value, set by the constructor."""
        free = [n for n in names if n not in self.made]
        name = self.draw.choice(free) if free else f"layer_{len(self.made)}"
        self.made[name] = value
        return f"self.{name}"

    def numbers(self) -> None:
        """Some numbers are the constructor's, or its arguments."""
        _Numbers(self).visit(self.forward)

    def argument(self, number: ast.Constant) -> str:
        """The expression of a number that the constructor takes."""
        text = self.keep(NUMBERS, "")
        name = text.removeprefix("self.")
        self.made[name] = name
        self.given[name] = number
        return text

    def split(self) -> None:
        """The first lines as a helper's."""
        lines = self.forward.body
        if len(lines) < 2 or not isinstance(lines[0], ast.Assign):
            return
        at = self.draw.randint(1, len(lines) - 1)
        arguments = [one.arg for one in self.forward.args.args[1:]]
        read = [a for a in arguments if any(_reads(line, a) for line in lines[:at])]
        left = ast.unparse(lines[at - 1]).partition(" = ")[0]
        name = self.draw.choice(HELPERS)
        text = "\n".join(f"    {ast.unparse(line)}" for line in lines[:at])
        helper = ast.parse(f"def {name}(self, {', '.join(read)}):\n{text}\n    return {left}").body
        self.model.body[self.model.body.index(self.forward) : self.model.body.index(self.forward)] = helper
        lines[:at] = ast.parse(f"{left} = self.{name}({', '.join(read)})").body

    def rename(self) -> None:
        """One name for all values, which may be assigned anew, since each is used by the next line alone."""
        arguments = [one.arg for one in self.forward.args.args[1:]]
        done = not any(_reads(line, arguments[0]) for line in self.forward.body[1:])
        name = self.draw.choice([*(one for one in VALUES if one not in arguments), *arguments[: int(done)]])
        for node in ast.walk(self.model):
            if isinstance(node, ast.Name) and re.fullmatch(r"v\d+", node.id):
                node.id = name

    def annotate(self) -> None:
        """Types of arguments and of the result."""
        for argument in self.forward.args.args[1:]:
            argument.annotation = ast.parse(TENSOR, mode="eval").body
        self.forward.returns = ast.parse(TENSOR, mode="eval").body

    def document(self) -> None:
        """Docstrings."""
        for place, share in ((self.tree, 0.4), (self.model, 0.6), (self.forward, 0.4)):
            if self.draw.random() < share:
                place.body.insert(0, ast.Expr(ast.Constant(self.draw.choice(WORDS))))

    def inputs(self) -> None:
        """Inputs by name, and of another distribution."""
        made = _function(self.tree, "get_inputs")
        text = ast.unparse(made.body[-1])
        calls = re.findall(r"torch\.randn\([^()]*\)", text)
        if self.draw.random() < 0.3:
            calls = [call.replace("randn", "rand") for call in calls]
        names = [one.arg for one in self.forward.args.args[1:]]
        if len(calls) == len(names):
            lines = [f"{name} = {call}" for name, call in zip(names, calls, strict=True)]
            made.body = ast.parse("\n".join([*lines, f"return [{', '.join(names)}]"])).body

    def sizes(self) -> None:
        """The inputs' sizes as constants of the module."""
        made = _function(self.tree, "get_inputs")
        calls = [n for n in ast.walk(made) if isinstance(n, ast.Call)]
        names, shape = self.draw.choice(SIZES), calls[0].args if calls else []
        if len(shape) != len(names) or any(
            ast.unparse(ast.List(call.args)) != ast.unparse(ast.List(shape)) for call in calls
        ):
            return
        constants = [ast.Assign([ast.Name(n, ast.Store())], s) for n, s in zip(names, shape, strict=True)]
        for call in calls:
            call.args = [ast.Name(name, ast.Load()) for name in names]
        self.tree.body[self.tree.body.index(made) : self.tree.body.index(made)] = constants

    def construct(self) -> None:
        """The constructor, where there is something to set, and sometimes where there is not."""
        if not self.made and self.draw.random() < 0.5:
            return
        first = self.draw.choice(("super().__init__()", "super().__init__()", "super(Model, self).__init__()"))
        lines = "\n".join(f"    {line}" for line in (first, *(f"self.{n} = {v}" for n, v in self.made.items())))
        made = ast.parse(f"def __init__({', '.join(('self', *self.given))}):\n{lines}").body
        at = 1 if isinstance(self.model.body[0], ast.Expr) else 0
        self.model.body[at:at] = made
        if self.given:
            values = ", ".join(ast.unparse(value) for value in self.given.values())
            _function(self.tree, "get_init_inputs").body = ast.parse(f"return [{values}]").body

    def headed(self) -> str:
        """The text with imports of another kind, and blank lines where people leave them."""
        body = [n for n in self.tree.body if not isinstance(n, ast.Import | ast.ImportFrom)]
        said = [f'"""{ast.literal_eval(n.value)}"""' for n in body if isinstance(n, ast.Expr)]
        rest = ast.unparse(ast.fix_missing_locations(ast.Module([n for n in body if not isinstance(n, ast.Expr)], [])))
        blank = self.draw.choice(("\n\n\n", "\n\n"))
        rest = re.sub(r"\n+(?=(?:class|def) )", blank, re.sub(r"(?<=\n)( .*)\n(?=\w+ = )", rf"\1{blank}", rest))
        if self.draw.random() < 0.6:
            rest = re.sub(r"(class Model\(nn\.Module\):)\n\n", r"\1\n", rest)
        return "\n\n".join((*said, self.draw.choice(HEADS))) + f"{blank}{rest}\n"

    def remarked(self, text: str) -> str:
        """Comments above and behind some lines of functions."""
        share = self.draw.choice((0.0, 0.0, 0.15, 0.4))
        return "\n".join(self._remarked(line, share) for line in text.split("\n"))

    def _remarked(self, line: str, share: float) -> str:
        code = re.match(r"( {8})(?:return |[\w.]+ = )", line)
        if code is None or self.draw.random() >= share:
            return line
        remark = f"# {self.draw.choice(REMARKS)}"
        return f"{line}  {remark}" if self.draw.random() < 0.4 else f"{code[1]}{remark}\n{line}"


class _Spelling(ast.NodeTransformer):
    """Another spelling for some operations, innermost first."""

    def __init__(self, form: _Form, share: float, layers: float) -> None:
        self._form, self._share, self._layers = form, share, layers

    def visit(self, node: ast.AST) -> ast.AST:
        """See `NodeTransformer.visit`."""
        found: dict[str, ast.expr] = {}
        row = next((r for r, pattern in zip(SAME, COMPOSED, strict=True) if _matches(pattern, node, found)), None)
        if row is None:
            return self.generic_visit(node)
        held = {name: self.visit(value) for name, value in found.items()}
        share = ARITHMETIC if row[0] in OPERATORS else self._share
        chosen = self._choice(row[1:]) if self._form.draw.random() < share else row[0]
        return self._placed(chosen, held)

    def _choice(self, row: tuple[str, ...]) -> str:
        layers = [text for text in row if text.startswith("nn.") and ")(" in text]
        others = [text for text in row if text not in layers]
        chosen = layers if layers and (not others or self._form.draw.random() < self._layers) else others or layers
        return self._form.draw.choice(chosen)

    def _placed(self, text: str, held: dict[str, ast.AST]) -> ast.expr:
        """The expression with what its letters stand for; a module that is made and called is a submodule nearly always."""
        found = _filled(text, held)
        if not isinstance(found, ast.Call) or not isinstance(found.func, ast.Call) or self._form.draw.random() < 0.1:
            return found
        made = ast.unparse(found.func)
        kept = self._form.keep((*LAYERS, made[3:].partition("(")[0].lower()), made)
        return ast.Call(ast.parse(kept, mode="eval").body, found.args, found.keywords)


class _Numbers(ast.NodeTransformer):
    """Some numbers become attributes."""

    def __init__(self, form: _Form) -> None:
        self._form, self._draw = form, form.draw
        self._given = self._draw.random() < 0.5

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, float) or self._draw.random() < 0.4:
            return node
        form = self._form
        text = form.argument(node) if self._given else form.keep(NUMBERS, ast.unparse(node))
        return ast.parse(text, mode="eval").body


def _function(tree: ast.Module | ast.ClassDef, name: str) -> ast.FunctionDef:
    return next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and _is_number(node.operand))


def _reads(line: ast.stmt, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(line))


def _matches(pattern: ast.AST, node: ast.AST, found: dict[str, ast.expr]) -> bool:
    """Whether the node is of the pattern, with what its letters stand for."""
    if isinstance(pattern, ast.Name) and pattern.id in "abcde":
        if not isinstance(node, ast.expr) or (pattern.id != "b" and (pattern.id in "cde") != _is_number(node)):
            return False
        return ast.dump(found.setdefault(pattern.id, node)) == ast.dump(node)
    if type(pattern) is not type(node):
        return False
    pairs = (
        (getattr(pattern, name), getattr(node, name, None)) for name in pattern._fields if name not in ("kind", "ctx")
    )
    fits = all(_same(one, other, found) for one, other in pairs)
    if not fits:
        found.clear()
    return fits


def _same(one: object, other: object, found: dict[str, ast.expr]) -> bool:
    if isinstance(one, list):
        return (
            isinstance(other, list)
            and len(one) == len(other)
            and all(_same(*two, found) for two in zip(one, other, strict=True))
        )
    if isinstance(one, ast.AST):
        return isinstance(other, ast.AST) and _matches(one, other, found)
    return one == other


def _filled(text: str, held: dict[str, ast.AST]) -> ast.expr:
    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return held.get(node.id, node)

    found = Fill().visit(ast.parse(text, mode="eval").body)
    assert isinstance(found, ast.expr)
    return found


def _nested(body: Iterable[ast.stmt], draw: random.Random, share: float) -> Iterator[ast.stmt]:
    """Some values stand where they are used, if they are used once: in a chain only the next line uses them."""
    inlined: dict[str, ast.expr] = {}
    for line in body:
        if isinstance(line, ast.Assign | ast.Return):
            value = line.value
            assert value is not None
            uses = [n.id for n in ast.walk(value) if isinstance(n, ast.Name)]
            again = {name for name in inlined if uses.count(name) > 1}
            yield from (ast.Assign([ast.Name(name, ast.Store())], inlined.pop(name)) for name in sorted(again))
            line.value = value = _Inline(inlined).visit(value)
            if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name) and draw.random() < share:
                inlined = {line.targets[0].id: value}
                continue
            inlined = {}
        yield line


class _Inline(ast.NodeTransformer):
    """Puts expressions in place of names."""

    def __init__(self, expressions: dict[str, ast.expr]) -> None:
        self._expressions = expressions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._expressions.get(node.id, node)
