"""Fetch one file: resumable, verified, and put in place only when whole."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from pathlib import Path

from hale.data.files import make_folder, put_in_place, writing_to
from hale.data.progress import Progress
from hale.errors import DownloadError

CHUNK = 1 << 16
TIMEOUT_SECONDS = 30
MOST_BYTES = 1 << 28  # the largest file that hale knows has a tenth of them
MOST_DIGITS = 18  # of a length


def fetch(
    url: str, target: Path, *, most: int = MOST_BYTES, progress: Progress | None = None
) -> Path:
    """Download ``url`` to ``target``; a broken transfer goes on where it stopped.

    A file of more than ``most`` bytes is none that is expected: it is thrown away.

    What has arrived lies in ``target`` + '.part' until it is whole, also across
    calls, so a cut connection costs only what is missing.
    """
    try:
        make_folder(target.parent)
    except OSError as error:
        raise DownloadError(f"{target.parent} cannot be made: {error.strerror}.") from None
    part = target.with_name(target.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "hale"})  # noqa: S310
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            resumed = answer.status == http.HTTPStatus.PARTIAL_CONTENT
            have = have if resumed else 0
            length = _length(answer.headers.get("Content-Length"))
            total = None if length is None else have + length
            if max(have, total or 0) > most:
                raise _TooLargeError
            with part.open("ab" if resumed else "wb") as file:
                while chunk := answer.read(CHUNK):
                    have += len(chunk)
                    if have > most:
                        raise _TooLargeError
                    file.write(chunk)
                    if progress:
                        progress(have, total)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and have:
            part.unlink()  # what was kept is not a beginning of this file
            return fetch(url, target, most=most, progress=progress)
        raise DownloadError(f"{url} answered {error.code} {error.reason}.") from None
    except _TooLargeError:
        part.unlink(missing_ok=True)
        raise DownloadError(
            f"{url} is larger than the {most:,} bytes that are expected at most, so it was thrown "
            "away. Its home has changed: put the official files into a folder named by HALE_DATA."
        ) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise DownloadError(
            f"{url} could not be fetched ({reason}). Check the network and try again: "
            f"the {have:,} bytes that arrived are kept."
        ) from None
    if total is not None and have < total:
        raise DownloadError(
            f"{url}: the connection was cut after {have:,} of {total:,} bytes. "
            "Try again: it goes on from there."
        )
    with writing_to(target):
        put_in_place(part, target)
    return target


class _TooLargeError(Exception):
    """More bytes than are expected."""


def _length(told: str | None) -> int | None:
    """What a server tells of the length; None where it tells nothing, or no number."""
    if told is None or not (told.isascii() and told.isdecimal()) or len(told) > MOST_DIGITS:
        return None
    return int(told)
