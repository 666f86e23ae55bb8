"""The signature of a serial function as pointers and numbers; and a wrapper where the function takes something else.

Structures are taken apart into their members, arrays of arrays become pointers, a vector a pointer and its length, and a value
that is returned goes where `result` points. The wrapper is code of the same file, which calls the function.
"""

import re
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.nests.macros import KEPT_BY_CPP, preprocessed
from kernelwright.nests.names import declared_name, parameters, type_of
from kernelwright.nests.structures import fields
from kernelwright.nests.syntax import field, functions, parse, text, walk

DTYPES = {
    "float": "float32", "double": "float64", "int": "int32", "int32_t": "int32", "unsigned": "int32", "unsigned int": "int32",
    "uint32_t": "int32", "long": "int64", "int64_t": "int64", "long long": "int64", "long int": "int64", "size_t": "int64",
    "ptrdiff_t": "int64", "ssize_t": "int64", "unsigned long": "int64", "uint64_t": "int64", "unsigned long long": "int64",
    "unsigned char": "uint8", "uint8_t": "uint8", "char": "int8", "signed char": "int8", "int8_t": "int8", "bool": "bool",
    "_Bool": "bool",
}  # fmt: skip
PLAIN = {
    "float32": "float", "float64": "double", "int32": "int", "int64": "long", "uint8": "unsigned char",
    "int8": "signed char", "bool": "bool",
}  # fmt: skip
"""How a dtype is written in the signature that is called."""
SAME = {"int32_t", "int64_t", "long long", "long int", "uint8_t", "int8_t", "_Bool"}
"""Other names of these types."""


@dataclass(frozen=True)
class Parameter:
    """A number, or a pointer to some."""

    name: str
    dtype: str
    pointer: bool
    constant: bool
    length_of: str = ""
    """Of which array this is the length."""


@dataclass(frozen=True)
class Signature:
    """How a function is called."""

    function: str
    parameters: tuple[Parameter, ...]
    wrapper: str = ""
    """Code behind the file's own that defines `function`; empty: the file does."""


class UnreadableError(ValueError):
    """There is no such function, or it takes what no array can be."""


def read_signature(code: str, dialect: str, wanted: str = "") -> Signature:
    """The signature of the function `wanted`, or of the one that nobody else in the file calls.

    Raises:
        UnreadableError: see there.
    """
    plain = preprocessed(code, dialect)[1]
    known = functions(parse(plain))
    name = _chosen(known, wanted)
    return _Flat(plain, dialect, known[name], name).signature()


def _chosen(known: dict[str, Node], wanted: str) -> str:
    called = {text(i) for f in known.values() for i in walk(field(f, "body"), "identifier")}
    known = {n: f for n, f in known.items() if n != "main" and not n.startswith("operator")}
    meant = [n for n, f in known.items() if "static" not in text(f).split("{")[0].split()]
    found = [wanted] if wanted in known else meant if len(meant) == 1 else [n for n in meant if n not in called]
    if len(found) != 1 or (wanted and wanted != found[0]):
        listed = ", ".join(meant) or "none"
        expected = f"the function {wanted!r}" if wanted else "one function"
        raise UnreadableError(f'must define {expected}; it has {listed}: name the right one with function = "NAME"')
    return found[0]


def _declared(one: Parameter) -> str:
    constant = "const " if one.pointer and one.constant else ""
    return f"{constant}{PLAIN[one.dtype]}{'*' if one.pointer else ''} {one.name}"


class _Flat:
    """A function's parameters, flattened one by one; `made` and `given` are the wrapper's locals and arguments."""

    def __init__(self, code: str, dialect: str, function: Node, name: str) -> None:
        self.code, self.dialect, self.function, self.name = code, dialect, function, name
        self.found: list[Parameter] = []
        self.made: list[str] = []
        self.given: list[str] = []
        self.after: list[str] = []
        self.plain = True
        self.aliases = {text(field(n, "name")): text(field(n, "type")) for n in walk(parse(code), "alias_declaration")}
        for node in walk(parse(code), "type_definition"):
            if field(node, "type").type != "struct_specifier":
                self.aliases[text(declared_name(field(node, "declarator")))] = text(field(node, "type"))

    def signature(self) -> Signature:
        """See `read_signature`."""
        for parameter in parameters(self.function):
            self._take(parameter)
        returned = self._resolved(type_of(self.function).replace("inline", "").strip())
        if "*" in text(field(self.function, "declarator")).split("(")[0]:
            raise UnreadableError(
                f"{self.name} returns a pointer, and neither a number nor a pointer to one can be a result"
            )
        if returned != "void":
            self._number(returned, "result", pointer=True, constant=False)
            self.given.pop()
            self.plain = False
        if self.plain:
            return Signature(self.name, tuple(self.found))
        listed = ", ".join(_declared(p) for p in self.found)
        call = f"{self.name}({', '.join(self.given)});"
        call = call if returned == "void" else f"*result = {call}"
        body = " ".join([*self.made, call, *self.after])
        return Signature(f"{self.name}_flat", tuple(self.found), f"void {self.name}_flat({listed}) {{ {body} }}\n")

    def _resolved(self, kind: str) -> str:
        kind = re.sub(r"\b(const|volatile|static|extern)\b", "", kind).replace("std::size_t", "size_t").strip()
        while kind in self.aliases and self.aliases[kind] != kind:
            kind = self.aliases[kind]
        return re.sub(r"^std::(?=\w+_t$)", "", kind)

    def _name(self, declarator: Node) -> str:
        """As the file has it: words of C++ that are names in C were changed."""
        name = text(declared_name(declarator))
        return name[:-1] if self.dialect == "c" and name.endswith("_") and name[:-1] in KEPT_BY_CPP else name

    def _take(self, parameter: Node) -> None:
        declarator = field(parameter, "declarator")
        name, constant = self._name(declarator), "const" in type_of(parameter).split()
        kind = self._resolved(type_of(parameter))
        stars, ranks = text(declarator).split("[")[0].count("*"), text(declarator).count("[")
        vector = re.match(r"(?:std::)?vector<(.+)>$", kind)
        members = fields(self.code, parameter)
        if vector:
            self._vector(self._resolved(vector[1]), name, constant)
        elif members and ranks == 0 and stars <= 1:
            self._structure(parameter, name, members, pointed=stars == 1, constant=constant)
        elif stars + ranks >= 2 and not (stars == 2 and ranks == 0):
            sizes = "".join(f"[{s}]" for s in re.findall(r"\[([^\]]*)\]", text(declarator))[0 if stars else 1 :])
            sizes = re.sub(r"\b(static|restrict|const)\b", "", sizes)
            self._number(kind, name, pointer=True, constant=constant)
            self.given[-1] = f"({kind} (*){sizes}){name}"
            self.plain = False
        elif stars == 2 or "&" in text(declarator):
            raise UnreadableError(f"the parameter {text(parameter)!r} is no array that lies in one piece")
        else:
            self._number(kind, name, pointer=stars + ranks == 1, constant=constant)

    def _number(self, kind: str, name: str, *, pointer: bool, constant: bool) -> None:
        if kind not in DTYPES:
            kinds = ", ".join(PLAIN.values())
            raise UnreadableError(f"the parameter {name!r} is a {kind}, and neither a number nor a pointer to {kinds}")
        dtype = DTYPES[kind]
        self.found.append(Parameter(name, dtype, pointer, constant))
        other = PLAIN[dtype] != kind and kind not in SAME
        self.given.append((f"({kind}{'*' if pointer else ''})" if other else "") + name)
        self.plain = self.plain and not other

    def _vector(self, kind: str, name: str, constant: bool) -> None:
        self.plain = False
        self._number(kind, name, pointer=True, constant=constant)
        self.found.append(Parameter(f"{name}_n", "int64", pointer=False, constant=False, length_of=name))
        self.made.append(f"std::vector<{kind}> {name}_v({name}, {name} + {name}_n);")
        self.given[-1] = f"{name}_v"
        if not constant:
            self.after.append(f"std::copy({name}_v.begin(), {name}_v.end(), {name});")

    def _structure(
        self, parameter: Node, name: str, members: list[tuple[str, str, str]], *, pointed: bool, constant: bool
    ) -> None:
        self.plain = False
        place = len(self.given)
        self.made.append(f"{text(field(parameter, 'type'))} {name};")
        for member, kind, stars in members:
            self._number(
                self._resolved(kind),
                f"{name}_{member}",
                pointer=bool(stars),
                constant="const" in kind.split() or (constant and not stars),
            )
            cast = f"({kind.replace('const ', '')}*)" if stars else ""
            self.made.append(f"{name}.{member} = {cast}{name}_{member};")
        self.given[place:] = [f"&{name}" if pointed else name]
