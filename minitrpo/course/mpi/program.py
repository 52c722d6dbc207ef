"""A student's program as text: its lines, and the expressions in it."""

import ast
from dataclasses import dataclass
from functools import cached_property

LONGEST = 70  # characters of an expression that are shown


@dataclass(frozen=True)
class Program:
    """The text of a program, and the name of its file."""

    path: str
    source: str

    @cached_property
    def lines(self) -> list[str]:
        """Return its lines."""
        return self.source.splitlines()

    def line(self, number: int | None) -> str:
        """Return a line by its number, from 1, without its indentation; "" if there is no such line."""
        return short(self.lines[number - 1]) if number is not None and 0 < number <= len(self.lines) else ""

    def expression(self, at: list[int | None], otherwise: str) -> str:
        """Return the text between [first line, last line, first column, last column] on one line."""
        if any(place is None for place in at):
            return otherwise
        first, last, begin, end = (int(place or 0) for place in at)
        lines = [line.encode() for line in self.lines[first - 1 : last]]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][begin:]
        return short(b" ".join(line.strip() for line in lines).decode(errors="replace"))

    def loop_around(self, number: int) -> int | None:
        """Return in which line the innermost loop around a line begins, None if there is none."""
        loops = [node for node in ast.walk(ast.parse(self.source)) if isinstance(node, ast.While | ast.For)]
        return max((node.lineno for node in loops if node.lineno <= number <= (node.end_lineno or 0)), default=None)

    def syntax_error(self) -> tuple[int, str] | None:
        """Return the line and the text of its first syntax error, None if it has none."""
        try:
            compile(self.source, self.path, "exec", ast.PyCF_ONLY_AST)
            compile(self.source, self.path, "exec")
        except SyntaxError as error:
            return error.lineno or 1, error.msg
        except ValueError as error:  # a null byte
            return 1, str(error)
        return None


def short(text: str) -> str:
    """Return text on one line, the end of a long one left out."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 4] + " ..."
