"""One-token edits of our own code, and whether tests notice: python tests/tools/mutation.py --edits 30

An edit turns < into <=, + into -, True into False, 3 into 4, `and` into `or`, or leaves out a `not`. It is made in a
copy of the package. The test files that are nearest to its module run first, then some more. What survives is printed:
it is equal in meaning, or a test is missing.
"""

import argparse
import ast
import io
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "+", "/": "*",
         "//": "*", "+=": "-=", "-=": "+=", "True": "False", "False": "True", "and": "or", "or": "and", "not": "",
         "is": "is not", "min": "max", "max": "min", "any": "all", "all": "any", "break": "continue"}  # fmt: skip
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
MORE = {  # further tokens that stand for a token, for the answers to exercises
    **{sign: tuple(other for other in COMPARISONS if other not in (sign, SWAPS[sign])) for sign in COMPARISONS},
    "sum": ("mean",), "mean": ("sum",), "maximum": ("minimum",), "minimum": ("maximum",), "exp": ("log",),
    "log": ("exp",), "sqrt": ("square",), "abs": ("",), "zeros": ("ones",), "ones": ("zeros",), "var": ("std",),
    "std": ("var",), "argmax": ("argmin",), "sorted": ("list",), "isfinite": ("isnan",), "**": ("*",), "@": ("*",),
}  # fmt: skip
LEFT_OUT = ("course", "__main__", "__init__")  # the course's checks have wrong answers of their own


def edits(text, more=False):
    """Return (line, column, token, what becomes of it) for every edit of the text of a module.

    more: several edits of a token, by MORE, too: of a number x also 0, 2 x and x / 2, of a sign minus also none.
    """
    found, of_annotations = [], annotations(text)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        old, (line, column) = token.string, token.start
        if (line, column) in of_annotations or "@dataclass" in token.line:
            continue
        if token.type == tokenize.NUMBER:
            found += [(line, column, old, new) for new in other_numbers(old, more)]
        elif token.type in (tokenize.OP, tokenize.NAME) and not re.match(r"\s*(def|import|from) ", token.line):
            new = [SWAPS[old]] if old in SWAPS and not is_unary(token) else []
            if more:
                new += ("",) if old == "-" and is_unary(token) else MORE.get(old, ())
            found += [(line, column, old, instead) for instead in new]
    return found


def other_numbers(text, more):
    """Return the numbers that stand for a number."""
    if not more:
        return [str(int(text) + 1)] if re.fullmatch(r"\d+", text) else []
    number = ast.literal_eval(text)
    whole = isinstance(number, int)
    others = [number + 1, number * 0, 2 * number, number // 2 if whole and number % 2 == 0 else number / 2]
    return [repr(other) for other in dict.fromkeys(others) if other != number]


def is_unary(token):
    """Return whether a sign is that of a number or of arguments, not between two of them."""
    before = token.line[: token.start[1]].rstrip()
    return token.string in "*-+" and (
        not before or before[-1] in "=([,:*" or before.endswith(("return", "lambda", "else", "if"))
    )


def annotations(text):
    """Return where the tokens of annotations stand, and those of `if TYPE_CHECKING`: they do nothing."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            for inner in ast.walk(part) if part is not None else ():
                if hasattr(inner, "lineno"):
                    found |= {(inner.lineno, column) for column in range(inner.col_offset, inner.end_col_offset)}
    return found


def edited(text, edit):
    """Return the text of a file with one edit."""
    line, column, token, instead = edit
    lines = text.splitlines(keepends=True)
    content = lines[line - 1]
    lines[line - 1] = content[:column] + instead + content[column + len(token) :]
    return "".join(lines)


def tests_of(file):
    """Return the test files that import a module and little else, or name it; its namesake first, then its room's."""
    name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    scores = {}
    for test in (ROOT / "tests").rglob("test_*.py"):
        text = test.read_text()
        lines = re.findall(r"^from (minitrpo[\w.]*) import (.+)$", text, re.MULTILINE)
        imported = [f"{module}.{part}" for module, parts in lines for part in ("", *re.findall(r"\w+", parts))]
        near = 100 * (test.stem == f"test_{file.stem}") + 40 * (test.stem == f"test_{file.parent.name}")
        near += 30 * (f"{name}." in imported or name in imported)
        near += 10 * any(each.startswith(name.rpartition(".")[0]) for each in imported)
        near += 3 * min(len(re.findall(rf"\b{file.stem}\b", text)), 5)
        scores[test] = near and near - len(lines)
    return [test for test in sorted(scores, key=lambda test: (-scores[test], test.name)) if scores[test]]


def caught(copy, tests, seconds):
    """Return how the quick tests end: `caught`, `survived`, or `too slow`, which is caught, too."""
    path = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow"]
    command += [str(copy / test.relative_to(ROOT)) for test in tests]
    process = subprocess.Popen(command, cwd=copy, env={**os.environ, **path}, start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        return "survived" if process.wait(seconds) == 0 else "caught"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return "too slow"


def main():
    """Make edits at random, and print what survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", type=int, default=3, help="test files for each edit")
    parser.add_argument("--more", type=int, default=5, help="test files for an edit that survives those")
    parser.add_argument("--seconds", type=float, default=120.0, help="for the tests of one edit")
    parser.add_argument("--again", metavar="LOG", help="those that survived by what was printed before, instead")
    parser.add_argument("--under", default="", help="a folder of minitrpo/, or the beginning of a module's name")
    options = parser.parse_args()
    rng, counts = random.Random(options.seed), {"caught": 0, "too slow": 0, "survived": 0}
    files = [
        file for file in sorted((ROOT / "minitrpo").rglob("*.py")) if not set(file.with_suffix("").parts) & {*LEFT_OUT}
    ]
    files = [file for file in files if str(file.relative_to(ROOT / "minitrpo")).startswith(options.under)]
    every = [(file, edit) for file in files for edit in edits(file.read_text())]
    chosen = rng.sample(every, min(options.edits, len(every)))
    if options.again:
        places = set(re.findall(r"^survived (\S+):(\d+):(\d+) ", Path(options.again).read_text(), re.MULTILINE))
        chosen = [(f, e) for f, e in every if (str(f.relative_to(ROOT)), str(e[0]), str(e[1])) in places]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        unwanted = (".git", ".venv", "__pycache__", "runs", ".hypothesis", ".hashes", "site", "slides")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*unwanted))
        used = set()
        for file, edit in chosen:
            place, text, began = copy / file.relative_to(ROOT), file.read_text(), time.monotonic()
            place.write_text(edited(text, edit))
            near = tests_of(file)
            near, further = near[: options.tests], near[options.tests : options.tests + options.more]
            end = caught(copy, near, options.seconds)
            if end == "survived" and further:
                end = caught(copy, further, options.seconds)
            used |= {*near, *further}
            place.write_text(text)
            counts[end] += 1
            line, column, token, instead = edit
            named = ", ".join(test.stem for test in near)
            print(f"{end:9}{file.relative_to(ROOT)}:{line}:{column} {token} -> {instead or 'nothing'}  [{named}] "
                  f"{time.monotonic() - began:.0f} s", flush=True)  # fmt: skip
        if caught(copy, sorted(used), 60 * options.seconds) != "survived":
            sys.exit("these tests fail without an edit, too: what was caught counts nothing")
    print(f"{sum(counts.values())} edits of {len(every)} possible: {counts}")


if __name__ == "__main__":
    main()
