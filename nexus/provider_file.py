"""`providers.toml` in the home: agent programs that the person adds to those NEXUS knows.

    [provider.my-agent]
    name = "My agent"
    programs = ["my-agent"]

It is read anew each time. A file with anything wrong counts as a whole as none, and is complained of: half a file would
leave the person guessing which half. Nothing in it is run but the program, to ask its version.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, ValidationError

from bus.limits import name_characters_max, provider_names_max, providers_declared_max, providers_file_bytes_max
from tools.base import Model, Name
from tools.problems import problem, problems_of
from tools.provider_table import PROVIDERS, Provider, Sign, Transport

FILE_NAME: Final = "providers.toml"

_MORE: Final = "Sign in as its documentation says."


def _must_be_a_program(name: str) -> str:
    if "/" in name or name in (".", ".."):
        raise problem("must be the name of a program on PATH, without a folder")
    return name


def _must_be_an_argument(text: str) -> str:
    """A version is asked by an option or a word; a path could make the program read something."""
    if "/" in text:
        raise problem("must not be a path")
    return text


_Program = Annotated[Name, AfterValidator(_must_be_a_program)]
_Argument = Annotated[Name, AfterValidator(_must_be_an_argument)]
_Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
_Id = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
_Names = Annotated[list[Name], Field(max_length=provider_names_max)]


class _Declared(Model):
    """One table of the file. Names as in `nexus provider show --json`."""

    name: Name
    programs: Annotated[list[_Program], Field(min_length=1, max_length=provider_names_max)]
    tagline: Name = "Added by the person."
    docs: Annotated[str, Field(pattern=r"^https?://[!-~]+$", max_length=name_characters_max)] | None = None
    configFiles: _Names = Field(default=[])
    instructionFiles: _Names = Field(default=[])
    transport: list[Literal["stdio", "http"]] = Field(default=[], max_length=2)
    versionArguments: list[_Argument] = Field(default=["--version"], max_length=provider_names_max)
    authVariables: list[_Variable] = Field(default=[], max_length=provider_names_max)
    authFiles: _Names = Field(default=[])
    announces: _Names = Field(default=[])


class _File(Model):
    provider: dict[_Id, _Declared] = Field(default={}, max_length=providers_declared_max)


@dataclass(frozen=True, slots=True)
class Known:
    """Every agent program that NEXUS knows now, by id in the order of the list; and what is wrong with the file."""

    providers: Mapping[str, Provider] = field(default_factory=lambda: PROVIDERS)
    complaint: str | None = None


def known_providers(home: Path) -> Known:
    """Those of the table and those of the file. Never raises: a file that cannot be used is complained of. Blocks."""
    file = home / FILE_NAME
    try:
        declared = _read(file)
    except FileNotFoundError:
        return Known()
    except (OSError, ValueError, ValidationError) as wrong:
        return Known(complaint=f"{file} is left out as a whole: {_why(wrong)}")
    doubled = sorted(declared.keys() & PROVIDERS.keys())
    if doubled:
        known = f"{', '.join(doubled)} is known to NEXUS already; choose another id"
        return Known(complaint=f"{file} is left out as a whole: {known}")
    return Known({**PROVIDERS, **declared})


def _read(file: Path) -> dict[str, Provider]:
    """Raises OSError, ValueError and ValidationError."""
    # Not blocking: a FIFO under this name must not hold up whoever asks.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as opened:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is no plain file")
        if found.st_mode & 0o022 or found.st_uid != os.getuid():
            raise ValueError("others could change it; it must be yours, and writable by you alone")
        text = opened.read(providers_file_bytes_max + 1)
    if len(text) > providers_file_bytes_max:
        raise ValueError(f"it is larger than {providers_file_bytes_max // 1024} KiB")
    parsed = _File.model_validate(tomllib.loads(text.decode()))
    return {id_: _provider(id_, one) for id_, one in parsed.provider.items()}


def _provider(id_: str, one: _Declared) -> Provider:
    transport: tuple[Transport, ...] = tuple(one.transport)
    return Provider(
        id=id_,
        name=one.name,
        programs=tuple(one.programs),
        tagline=one.tagline,
        docs=one.docs,
        config_files=tuple(one.configFiles),
        instruction_files=tuple(one.instructionFiles),
        transport=transport,
        sign=Sign(tuple(one.authVariables), tuple(one.authFiles), _MORE),
        announces=tuple(one.announces),
        version_arguments=tuple(one.versionArguments),
    )


def _why(wrong: Exception) -> str:
    match wrong:
        case ValidationError():
            return "; ".join(f"{path}: {sentence}" for path, sentence in problems_of(wrong).items())
        case UnicodeDecodeError():
            return "it is not UTF-8"
        case OSError():
            return f"it cannot be read ({wrong.strerror})"
        case _:  # the parser of TOML says line and column, our own sentences what is wrong
            return str(wrong)
