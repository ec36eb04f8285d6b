"""Safe reading of XML from banks, piece by piece. No other module parses the XML of a bank.

Expat parses the whole text only to refuse XML that is not well-formed or has a DOCTYPE. Without a
DOCTYPE no entity is expanded and no network is accessed. The same text is then split at the
elements that matter, which is much faster than building a tree. The text between these elements is
limited in length, so memory is bounded for any file.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Final, NoReturn
from xml.parsers import expat

import msgspec

from treasury.core.errors import StatementError
from treasury.statements.byte_stream import ByteSource

_CHUNK: Final = 1 << 16
_MOST_BETWEEN: Final = 4 << 20
"""Maximum number of characters between entries; a bank's entry takes one or two thousand."""
_MOST_IN_DETAIL: Final = 1 << 14
_MOST_IN_ENTRY: Final = 256 << 20
_MOST_DOCUMENTS: Final = 10_000
"""Maximum number of documents in one file; banks join the documents of at most a year."""
_LONGEST_DECLARATION: Final = 1 << 10
_LONGEST_SPACE: Final = 1 << 10
_MOST_SPACES: Final = 1 << 12
"""Maximum length of the namespace declarations, which are copied into each entry with a prefix."""

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_DECLARED: Final = re.compile(r"""<\?xml\s[^>]*?\?>""")
_ENCODING: Final = re.compile(rb"""<\?xml\s[^>]*?\sencoding\s*=\s*["']([^"']*)["']""")
_PLAIN: Final = re.compile(
    r"utf-?8|utf-?16(le|be)?|(us-)?ascii|iso-?8859-?\d{1,2}|latin-?1|(windows-|cp)125\d",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r"""<(/?)([^\s/>"'=<]+)((?:[^>"']|"[^"]*"|'[^']*')*)>""")
_SPACE_DECLARED: Final = re.compile(r"""\sxmlns(?::[^\s=]+)?\s*=\s*(?:"[^"]*"|'[^']*')""")
_SPECIAL: Final = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
_BEGINS_SPECIAL: Final = re.compile(r"<(?:!--|!\[CDATA\[|\?|!)")


class Piece(msgspec.Struct, frozen=True):
    """An element extracted from the file, or the beginning or end of a container."""

    kind: str
    """`document` (its start); `begin`, `part`, `entry`, `end` of a container; or `outside`."""
    name: str
    text: str = ""


class Cut:
    """Iterator over the pieces of a file, which are the elements in its statements.

    `containers` decides by the local names of an element and its parent whether the element is a
    container, that is a statement. `entry` is the local name of the entries in a container,
    `detail` that of the details in an entry. Elements named in `outside` are yielded if they are
    outside a container. `roots` has the names of the elements above the containers of the current
    document. Raises StatementError with file and line if the text is not plain XML.
    """

    def __init__(
        self,
        source: ByteSource,
        file_name: str,
        containers: Callable[[str, str], bool],
        *,
        entry: str,
        detail: str,
        outside: tuple[str, ...] = (),
    ) -> None:
        self.roots: list[str] = []
        self.spaces: list[str] = []
        self._source = source
        self._file_name = file_name
        self._is_container = containers
        self._entry, self._detail, self._outside = entry, detail, outside
        self._decode: Callable[[bytes, bool], str] | None = None
        self._encoding = ""
        self._parser = self._new_parser()
        self._parsed = ""
        """The text last passed to the parser; `_parsed_before` counts the bytes before it."""
        self._parsed_before = 0
        self._lines_before = 0
        """Number of lines before the document being parsed."""
        self._documents = 1
        self._between: str | None = None
        """Text between two documents, held until the declaration of the second is complete."""
        self._held = ""
        self._text = ""
        self._at = 0
        self._gone = 0
        self._size = _CHUNK
        self._ended = False
        self._declared: list[list[str]] = []
        """Namespaces declared by each open element above the containers."""

    @property
    def line(self) -> int:
        """Return the line at which the last piece begins."""
        return 1 + self._gone + self._text.count("\n", 0, self._at)

    def __iter__(self) -> Iterator[Piece]:
        """Yield the pieces in the file's order."""
        stack = [""]
        while tag := self._next_tag():
            closing, name = tag.group(1, 2)
            local = local_name(name)
            if closing:
                if len(stack) > 1:
                    stack.pop()
                    self._declared.pop()
                self._at = tag.end()
            elif self._is_container(local, stack[-1]):
                yield from self._container(tag)
            elif local in self._outside:
                yield Piece("outside", local, self._element(tag))
            else:
                if len(stack) == 1:
                    yield Piece("document", local)
                    self.roots, self.spaces = [], []
                self._open(tag, stack)
        while self._more():
            self._at = len(self._text)

    def _open(self, tag: re.Match[str], stack: list[str]) -> None:
        """Enter an element above the containers."""
        name, attributes = tag.group(2, 3)
        local, spaces = local_name(name), _SPACE_DECLARED.findall(attributes)
        if len(stack) <= 3 and len(self.roots) < 16:
            self.roots.append(local)
            self.spaces += spaces
        self._at = tag.end()
        if not attributes.endswith("/"):
            stack.append(local)
            self._declared.append(spaces)
            self._joined_spaces([])
        if len(stack) > 256:
            raise self._refused("its elements are nested too deeply")

    def _joined_spaces(self, more: list[str]) -> str:
        """Merge the open elements' namespaces with further ones; the innermost declaration wins."""
        declared = [*chain(*self._declared), *more]
        if sum(map(len, declared)) > _MOST_SPACES:
            raise self._refused("its namespaces are longer than any bank's")
        return "".join({space.partition("=")[0].strip(): space for space in declared}.values())

    def _container(self, tag: re.Match[str]) -> Iterator[Piece]:
        name, attributes = tag.group(2, 3)
        local = local_name(name)
        yield Piece("begin", local)
        self._at = tag.end()
        if not attributes.endswith("/"):
            prefix = name[: -len(local)]
            spaces = self._joined_spaces(_SPACE_DECLARED.findall(attributes))
            yield from self._children(f"{prefix}{self._entry}", spaces if prefix else "")
        yield Piece("end", local)

    def _children(self, entry: str, spaces: str) -> Iterator[Piece]:
        """Yield the elements in a container."""
        opening, ending = f"<{entry}>", f"</{entry}>"
        opening_with_attributes = f"<{entry} "
        passed = 0
        while True:
            # The fast path: an entry as most banks write it, complete in the buffer.
            text, at = self._text, self._at
            end = text.find(ending, at) if text.startswith(opening, at) else -1
            if (
                end >= 0
                and text.find(opening, at + 1, end) < 0
                and text.find(opening_with_attributes, at + 1, end) < 0
            ):
                end += len(ending)
                element = text[at:end]
                yield Piece("entry", self._entry, _with_spaces(element, entry, spaces))
                passed = 0
                following = text.find("<", end)
                self._at = end if following < 0 else following
                continue
            tag = self._next_tag()
            if tag is None:
                return
            if tag.group(1):
                self._at = tag.end()
                return
            local = local_name(tag.group(2))
            is_entry = local == self._entry
            if is_entry and end < 0 and self._begins_quickly(opening, ending):
                continue
            element = self._element(tag)
            passed = 0 if is_entry else passed + len(element)
            if passed > _MOST_BETWEEN:
                raise self._too_much()
            spaced = _with_spaces(element, tag.group(2), spaces)
            yield Piece("entry" if is_entry else "part", local, spaced)

    def _begins_quickly(self, opening: str, ending: str) -> bool:
        """Read until the next entry is complete; return whether it has the usual form."""
        if not self._text.startswith(opening, self._at):
            return False
        while self._text.find(ending, self._at) < 0:
            if not self._more():
                return False
        return self._text.find(opening, self._at + 1, self._text.find(ending, self._at)) < 0

    def _element(self, tag: re.Match[str]) -> str:
        """Return the text of the element that begins with `tag`, and move past it."""
        name, attributes = tag.group(2, 3)
        if attributes.endswith("/"):
            self._at = tag.end()
            return tag.group()
        same_tags = re.compile(rf"<(/?){re.escape(name)}(?:\s(?:[^>\"']|\"[^\"]*\"|'[^']*')*|/)?>")
        depth, at = 1, tag.end() - self._at
        while depth:
            nested_tag = same_tags.search(self._text, self._at + at)
            if nested_tag is None:
                at = max(at, len(self._text) - self._at - _LONGEST_TAG)
                if not self._more():
                    raise self._not_well_formed("it ends too early")
            else:
                depth += -1 if nested_tag[1] else not nested_tag[0].endswith("/>")
                at = nested_tag.end() - self._at
        text = self._text[self._at : self._at + at]
        self._at += at
        return text

    def _next_tag(self) -> re.Match[str] | None:
        """Return the next tag in the buffer, and move to it; None at the end of the file."""
        while True:
            at = self._text.find("<", self._at)
            tag = _TAG.match(self._text, at) if at >= 0 else None
            if tag is not None:
                self._at = at
                return tag
            if at < 0:
                self._gone += self._text.count("\n", 0)
                self._text, self._at = "", 0
            if not self._more():
                return None

    def _more(self) -> bool:
        """Read more text into the buffer; return False at the end of the file."""
        if self._ended:
            return False
        self._gone += self._text.count("\n", 0, self._at)
        unread, self._at = self._text[self._at :], 0
        details = unread.count(f"{self._detail}>") if len(unread) > _MOST_BETWEEN else 0
        bound = min(_MOST_BETWEEN + details * _MOST_IN_DETAIL, _MOST_IN_ENTRY)
        # The text held back belongs to an unfinished comment, CDATA section or instruction.
        if len(self._held) > _MOST_BETWEEN or len(unread) > bound:
            raise self._too_much()
        chunk = self._source.read(self._size)
        # Each chunk is larger than the last one: a long element is then copied only a few times.
        self._size = min(self._size * 2, 1 << 22) if len(unread) > self._size else _CHUNK
        self._ended = not chunk
        self._text = unread + self._plain(self._read(chunk))
        return True

    def _read(self, chunk: bytes) -> str:
        """Decode the bytes, and check the text with the parser."""
        try:
            if self._decode is None:
                self._decode = self._decoder(chunk)
                text = _DECLARED.sub("", self._decode(chunk, not chunk), count=1)
                if not text.lstrip().startswith("<"):
                    raise self._refused("it does not begin like XML")
            else:
                text = self._decode(chunk, not chunk)
            self._parse(text, is_last=not chunk)
        except UnicodeError as error:
            why = "its bytes are not in the declared encoding"
            raise self._not_well_formed(f"{why}: {str(error)[:120]}") from None
        except expat.ExpatError as error:
            why = expat.errors.messages.get(error.code, "not XML")
            where = f"line {self._lines_before + error.lineno}, column {error.offset + 1}: {why}"
            raise self._not_well_formed(where) from None
        return text

    def _new_parser(self) -> expat.XMLParserType:
        # Expat only checks that the text is well-formed.
        parser = expat.ParserCreate(namespace_separator="}")
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartNamespaceDeclHandler = self._bound_namespace
        return parser

    def _parse(self, text: str, *, is_last: bool) -> None:
        """Pass text to the parser; start a new parser for each further document of the file."""
        # At the end of each document the unparsed text is copied, so it is passed in small pieces.
        for at in range(0, max(len(text), 1), _CHUNK):
            piece = text[at : at + _CHUNK]
            self._parse_piece(piece, is_last=is_last and at + _CHUNK >= len(text))

    def _parse_piece(self, text: str, *, is_last: bool) -> None:
        if self._between is not None:
            text = self._begun_document(self._between + text, is_last=is_last)
        while True:
            try:
                self._parser.Parse(text, is_last and self._between is None)
            except expat.ExpatError as error:
                rest = self._rest_after_document(text, error.code)
                if rest is None:
                    raise
                self._lines_before += error.lineno - 1
                self._parser, self._parsed, self._parsed_before = self._new_parser(), "", 0
                self._documents += 1
                if self._documents > _MOST_DOCUMENTS:
                    raise self._refused(
                        f"more than {_MOST_DOCUMENTS} documents in one file"
                    ) from None
                text = self._begun_document(rest, is_last=is_last)
            else:
                self._parsed_before += len(self._parsed.encode())
                self._parsed = text
                return

    def _rest_after_document(self, text: str, error_code: int) -> str | None:
        """Return the text after the end of a document, where the parser stopped.

        Return None if the document has not ended: then the parser stopped at a fault.
        """
        # A tag or declaration may have begun in the text before.
        at = self._parser.ErrorByteIndex - self._parsed_before
        if at < 0:
            return None
        around = (self._parsed + text).encode()
        rest = around[at:].decode()
        # A byte order mark after a tag is an error only if the document has ended.
        is_mark = rest.startswith("\ufeff") and around[:at].rstrip().endswith(b">")
        is_end = error_code == _JUNK or (error_code == _INVALID and is_mark)
        begins = rest.lstrip(_BETWEEN)[:1]
        return rest if is_end and begins in {"", "<"} else None

    def _begun_document(self, text: str, *, is_last: bool) -> str:
        """Return the text of the next document in the file, without its XML declaration.

        Until the declaration is complete, return an empty text and hold the text in `_between`.
        """
        following = text.lstrip(_BETWEEN)
        is_declared = following.startswith("<?xml"[: len(following)])
        if is_declared and "?>" not in following and len(following) < _LONGEST_DECLARATION:
            if is_last:
                raise self._not_well_formed("it ends too early")
            self._between = text
            return ""
        if not following.startswith("<"):
            raise self._not_well_formed("there is text between two documents")
        self._between = None
        declared = _DECLARED.match(following)
        encoding = _ENCODING.match(declared[0].encode()) if declared else None
        names = [codecs.lookup(self._encoding).name.removesuffix("-sig")]
        # A declaration that could be read as UTF-16 is in UTF-16, whichever encoding it names.
        if encoding is not None and not self._encoding.startswith("utf-16"):
            with suppress(LookupError):
                names.append(codecs.lookup(encoding[1].decode("latin-1")).name)
        if len(set(names)) > 1:
            raise StatementError(
                f"{self._file_name}: documents in two encodings, one after the other",
                do="cut the file where the second begins, and add each; nothing was stored",
            )
        document = following[declared.end() :] if declared else following
        self._lines_before += text.count("\n") - document.count("\n")
        return document

    def _decoder(self, head: bytes) -> Callable[[bytes, bool], str]:
        """Return the decoder for the encoding of the byte order mark or declaration, else UTF-8."""
        encoding = next((name for bom, name in _BOMS if head.startswith(bom)), "")
        if not encoding:
            declared = _ENCODING.match(head)
            encoding = declared[1].decode("latin-1") if declared else "utf-8"
            if not _PLAIN.fullmatch(encoding):
                raise self._refused(f"its encoding {encoding[:20]!r} is not supported")
        self._encoding = encoding
        try:
            decoder = codecs.getincrementaldecoder(encoding)("strict")
        except LookupError:
            raise self._refused(f"its encoding {encoding[:20]!r} is not known") from None
        lines = io.IncrementalNewlineDecoder(decoder, translate=True)
        return lambda data, final: lines.decode(data, final=final)

    def _plain(self, text: str) -> str:
        """Return the text without comments and instructions, with CDATA as ordinary text."""
        text = self._held + text
        self._held = ""
        if "<!" not in text and "<?" not in text and not text.endswith("<"):
            return text
        plain, self._held = plain_text(text)
        if self._ended and self._held:
            raise self._not_well_formed("it ends too early")
        return plain

    def _bound_namespace(self, _prefix: str | None, name: str | None) -> None:
        """Refuse a long namespace: the parser copies it for each attribute with its prefix."""
        if name is not None and len(name) > _LONGEST_SPACE:
            raise self._refused("its namespaces are longer than any bank's")

    def _refuse_doctype(self, *_: object) -> NoReturn:
        raise self._refused("it has a DOCTYPE, which no bank statement needs")

    def _too_much(self) -> StatementError:
        return self._refused(f"more than {_MOST_BETWEEN >> 20} MB without an entry")

    def _not_well_formed(self, why: str) -> StatementError:
        return StatementError(
            f"{self._file_name}: not well-formed XML, {why}",
            do="fetch the file from the bank again; if the bank sends the same, correct that place"
            " or ask for another format. The file was not stored",
        )

    def _refused(self, why: str) -> StatementError:
        return StatementError(
            f"{self._file_name}: {why}",
            do="ask the bank for a plain camt.053 file; this one was not stored",
        )


_LONGEST_TAG: Final = 4096
_BETWEEN: Final = "\ufeff \t\n"
"""The only text allowed between two documents."""
_JUNK: Final = expat.errors.codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]
_INVALID: Final = expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]


def plain_text(text: str) -> tuple[str, str]:
    """Return the text without comments and instructions, and the incomplete rest at its end."""
    plain_parts: list[str] = []
    at = 0
    while (special := _BEGINS_SPECIAL.search(text, at)) is not None:
        begin, opening = special.start(), special.group()
        plain_parts.append(text[at:begin])
        ending = _SPECIAL.get(opening, "")
        stop = text.find(ending, special.end()) if ending else -1
        if stop < 0:
            return "".join(plain_parts), text[begin:]
        if opening == "<![CDATA[":
            data = text[special.end() : stop].replace("&", "&amp;")
            plain_parts.append(data.replace("<", "&lt;").replace(">", "&gt;"))
        at = stop + len(ending)
    end = len(text) - text.endswith("<")
    plain_parts.append(text[at:end])
    return "".join(plain_parts), text[end:]


def _with_spaces(text: str, name: str, spaces: str) -> str:
    """Return an element's text with the namespace of its prefix declared in it."""
    return f"<{name}{spaces}{text[len(name) + 1 :]}" if spaces else text


def local_name(name: str) -> str:
    """Return the element's name without its prefix."""
    return name.rpartition(":")[2]
