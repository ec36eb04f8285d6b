"""Split of an MT940 or MT942 file into its fields, without SWIFT's envelope.

A line that begins with a known tag starts a field. Any other line continues the field before it,
even if it looks like a tag: banks wrap texts at 65 characters, so a line may begin with a time of
day. The text is split chunk by chunk, and consecutive movements are returned together as lists,
because a statement may have very many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

import msgspec

from treasury.core.errors import StatementError
from treasury.statements.byte_stream import ByteSource
from treasury.statements.mt.mt_text import MtText, plain_head

END: Final = "-"
"""Tag used here for the end of a message."""
ENVELOPE: Final = "{"
"""Tag used here for SWIFT's blocks before a message."""

_TAGS: Final = r"20|21|25P?|28C?|34F|13[DC]?|60[FM]|61|86|62[FM]|64|65[A-Z]?|90[CD]|NS|94[02]"
_FIRST_TAGS: Final = re.compile(
    rb"(?:^|[\r\n])[ \t\x0b\x0c]*(?:\{1:F01|:20:|:25P?:|:28C?:|:60[FM]:|:61:)", re.MULTILINE
)
_BREAK: Final = re.compile(
    rf"\n[^\S\n]*(?::({_TAGS}):|(-{{1,2}}[^\S\n]*(?=\n)|(?:-[}}{{]|\{{[124]:)[^\n]*))"
)
"""Pattern of a field's beginning: a tag, or a whole line with the end or envelope of a message."""
_LONGEST_FIELD: Final = 1 << 16
_MOST_TOGETHER: Final = 1 << 20
_DETAILS: Final = re.compile(r"\s*\d{3,4}\?\d\d")


class MtField(msgspec.Struct, frozen=True, gc=False):
    """A field: its tag, its text with line breaks, and the number of its first line."""

    tag: str
    text: str
    line: int


class MtMovements(msgspec.Struct, frozen=True):
    """Consecutive movements: their fields 61, their texts, and the raw text of both.

    `texts` has the fields 86 of each movement, empty if it has none; `numbered` has the positions
    of texts from a field NS.
    """

    first: Sequence[str]
    texts: Sequence[str]
    raws: Sequence[str]
    lines: Sequence[int]
    numbered: frozenset[int] = frozenset()


def looks_like_mt(head: bytes) -> bool:
    """Return whether the beginning of a file has fields of an MT message."""
    return _FIRST_TAGS.search(plain_head(head)) is not None


class MtFields:
    """Iterator over the fields of a file; `text.encoding` is its encoding."""

    def __init__(self, source: ByteSource, file_name: str) -> None:
        self.text = MtText(source, file_name)
        self._file_name = file_name
        self._line = 0

    def __iter__(self) -> Iterator[MtField | MtMovements]:
        """Yield fields and movements. Raises StatementError if one is too long."""
        unfinished = "\n"
        for text in self.text:
            unfinished += text
            last = _last_beginning(unfinished)
            if len(unfinished) - last > _MOST_TOGETHER:
                raise self._refused(self._line, "a movement of more than 1 MB")
            if last > 0:
                following = _BREAK.match(unfinished, last)
                yield from self._cut(unfinished[:last], (following and following[1]) or END)
                unfinished = unfinished[last:]
        yield from self._cut(unfinished.removesuffix("\n"))

    def _cut(self, text: str, following: str = END) -> Iterator[MtField | MtMovements]:
        """Yield the fields in a text of complete fields; `following` is the tag after it."""
        pieces = _BREAK.split(f"{text}\n")
        tags = [tag or END for tag in pieces[1::3]]
        texts = pieces[3::3]
        breaks = [piece.count("\n") + 1 for piece in pieces[::3]]
        lines = list(accumulate(breaks, initial=self._line))
        # The last line break was added here and is removed.
        self._line = lines[-1] - 2
        texts[-1:] = [last[:-1] for last in texts[-1:]]
        lines = lines[1:-1]
        envelopes = pieces[2::3]
        if not _LOOKALIKES.isdisjoint(tags):
            _join_lookalikes(tags, texts, lines, envelopes, following)
        if texts and max(map(len, texts)) > _LONGEST_FIELD:
            at = next(i for i, text in enumerate(texts) if len(text) > _LONGEST_FIELD)
            raise self._refused(lines[at], "a field of more than 64 KB")
        # One letter per field: m for a movement, t and n for its texts, h for any other field.
        kinds = "".join([_KINDS.get(tag, "h") for tag in tags])
        # One bank writes field 86 with this tag.
        if "25" in tags:
            kinds = "".join(
                "t" if tag == "25" and _DETAILS.match(text) else kind
                for kind, tag, text in zip(kinds, tags, texts, strict=True)
            )
        for run in _RUN.finditer(kinds):
            begin, end = run.span()
            if kinds[begin] == "m":
                yield _movements(tags[begin:end], texts[begin:end], lines[begin:end], run[0])
            elif tags[begin] != END:
                yield MtField(tags[begin], texts[begin], lines[begin])
            else:
                yield MtField(END, "", lines[begin])
                if "{" in (envelopes[begin] or ""):
                    yield MtField(ENVELOPE, envelopes[begin], lines[begin])

    def _refused(self, line: int, why: str) -> StatementError:
        return StatementError(
            f"{self._file_name}: line {line}: {why}",
            do="ask the bank for a plain MT940 file; this one was not stored",
        )


def _join_lookalikes(
    tags: list[str], texts: list[str], lines: list[int], envelopes: list[str], following: str
) -> None:
    """Join a line that only looks like a field or an end to the field that contains it.

    The next field decides: a message has no field after its end, and the account follows a
    reference. Texts are wrapped at 65 characters, so a line may begin with a time such as `:20:30`.
    """
    is_dash = [
        tag == END and (envelope or "").strip() in _DASHES
        for tag, envelope in zip(tags, envelopes, strict=True)
    ]
    afters = [following] * len(tags)
    for at in range(len(tags) - 2, -1, -1):
        afters[at] = afters[at + 1] if is_dash[at + 1] else tags[at + 1]
    main = previous = ""
    inner: list[int] = []
    inner_closings = _inner_closings(tags, texts, is_dash, afters)
    for at, (tag, after) in enumerate(zip(tags, afters, strict=True)):
        if tag in _CLOSINGS:
            is_closed = main.startswith(("62", "64", "65"))
            is_none = at in inner_closings or (is_closed and not _BALANCE_BEGINS.match(texts[at]))
            is_inner = previous in _TEXTS and is_none
        elif is_dash[at]:
            # More lines follow a dash within a text, but not a dash that ends the message.
            has_more = main == "61" and previous in _TEXTS and bool(texts[at].strip())
            is_inner = has_more or _goes_on(main, after)
        else:
            is_inner = previous in _TEXTS and after not in _FOLLOWERS.get(tag, {after})
            is_inner = is_inner and not (tag == "25" and _DETAILS.match(texts[at]))
        if is_inner:
            inner.append(at)
            continue
        previous = tag
        if tag not in _EXPLAINS:
            main = "" if tag == END else tag
    for at in reversed(inner):
        # Below a balance or in a head, a dash does not end the message.
        if tags[at - 1] in _TEXTS or at - 1 in inner:
            texts[at - 1] += f"\n-{texts[at]}" if is_dash[at] else f"\n:{tags[at]}:{texts[at]}"
        for column in (tags, texts, lines, envelopes):
            del column[at]


def _inner_closings(
    tags: Sequence[str], texts: Sequence[str], is_dash: Sequence[bool], afters: Sequence[str]
) -> set[int]:
    """Return the positions of texts that only look like a closing balance.

    Such a text is not a valid balance, or movements follow it in the same message.
    """
    found: set[int] = set()
    following = afters[-1]
    # Chunks are split before a movement, so the true closing balance is probably in a later chunk,
    # unless a dash already ended the message.
    is_cut, has_dash = following == "61", False
    next_main, is_closed = following, is_cut or following in _CLOSINGS
    for at in range(len(tags) - 1, -1, -1):
        tag = tags[at]
        if tag in _CLOSINGS:
            is_ended = is_cut and has_dash
            is_inner = next_main == "61" or not _BALANCE_BEGINS.match(texts[at])
            if is_closed and is_inner and not is_ended:
                found.add(at)
            else:
                next_main, is_closed, is_cut = tag, True, False
        elif tag == "61":
            next_main, has_dash = tag, False
        elif is_dash[at]:
            has_dash = True
        elif (tag == END and not is_dash[at]) or (
            tag in _STARTS and afters[at] in _FOLLOWERS.get(tag, {afters[at]})
        ):
            next_main, is_closed = tag, False
    return found


def _goes_on(main: str, after: str) -> bool:
    """Return whether a dash is within a message; `main` is the last field before its texts."""
    if not main or after == END:
        return False
    if main.startswith(("62", "64", "65")):
        return after.startswith(("64", "65")) or after in _EXPLAINS
    return (
        after in _GOES_ON or after.startswith("65") or (main in _HEADS and after in _HEADS - {"20"})
    )


_DASHES: Final = frozenset({"-", "--"})
_EXPLAINS: Final = frozenset({"86", "NS"})
_TEXTS: Final = _EXPLAINS | {"61"}
_GOES_ON: Final = frozenset({"61", "86", "NS", "62F", "62M", "64", "90C", "90D"})
_HEADS: Final = frozenset(
    {"20", "21", "25", "25P", "28", "28C", "34F", "13", "13C", "13D", "60F", "60M"}
)
_FOLLOWERS: Final = {
    "13": frozenset[str](),
    "20": frozenset({"21", "25", "25P", "28", "28C", "60F", "60M"}),
    "21": frozenset[str](),
    "25": frozenset({"28", "28C", "34F", "13C", "13D", "60F", "60M"}),
    "28": frozenset({"34F", "13C", "13D", "60F", "60M"}),
}
"""After a text, a line that looks like one of these fields is that field only if one of the listed
fields follows it. Otherwise, and always for an empty set, it is a line of the text."""
_CLOSINGS: Final = frozenset({"62F", "62M"})
_STARTS: Final = frozenset({"20", "25", "25P", "28", "28C", "60F", "60M", "940", "942"})
"""Fields at the beginning of a message; movements after them belong to this message."""
_BALANCE_BEGINS: Final = re.compile(r"\s*R?[CD]\s*\d{6}")
_LOOKALIKES: Final = frozenset({END, *_FOLLOWERS, *_CLOSINGS})
_KINDS: Final = {"61": "m", "86": "t", "NS": "n"}
_RUN: Final = re.compile(r"m[mtn]*|.")
_MOVEMENT: Final = re.compile(r"m[tn]*")
_NOT_A_BEGINNING: Final = re.compile(
    r"\n[^\S\n]*(?::(?:86|NS|20|21|25P?|28C?|13[CD]?|62[FM]):|-{1,2}[^\S\n]*\n)"
)


def _last_beginning(text: str) -> int:
    """Return the position of the last field, which the next chunk of text may continue."""
    at = len(text)
    while (at := text.rfind("\n", 0, at)) > 0:
        if _BREAK.match(text, at) and not _NOT_A_BEGINNING.match(text, at):
            return at
    return 0


def _movements(
    tags: Sequence[str], texts: Sequence[str], lines: Sequence[int], kinds: str
) -> MtMovements:
    """Return fields as movements; most movements have one field 61 and one field 86."""
    count = len(kinds) // 2
    if kinds == "mt" * count and "25" not in tags:
        first, more = texts[::2], texts[1::2]
        raws = [f":61:{line}\n:86:{text}" for line, text in zip(first, more, strict=True)]
        return MtMovements(first, more, raws, lines[::2])
    spans = [matched.span() for matched in _MOVEMENT.finditer(kinds)]
    raws = [
        "\n".join([f":{tags[i]}:{texts[i]}" for i in range(begin, end)]) for begin, end in spans
    ]
    numbered = frozenset(
        at for at, (begin, _) in enumerate(spans) if kinds[begin + 1 : begin + 2] == "n"
    )
    return MtMovements(
        [texts[begin] for begin, _ in spans],
        # If a field NS comes first, only its text is used, otherwise all fields are.
        [
            "\n".join(texts[begin + 1 : begin + 2 if at in numbered else end])
            for at, (begin, end) in enumerate(spans)
        ],
        raws,
        [lines[begin] for begin, _ in spans],
        numbered,
    )
