"""What the command lines of the benchmarks share."""

import argparse


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return an empty command line with a module's docstring as its help."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )


def names(text: str) -> list[str]:
    """Return the names that stand in a text with commas."""
    return text.split(",")


def positive_numbers(text: str) -> list[int]:
    """Return the positive integers that stand in a text with commas."""
    if not all(word.isdecimal() and int(word) > 0 for word in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r}: write positive integers with commas, such as 16,32")
    return [int(word) for word in text.split(",")]
