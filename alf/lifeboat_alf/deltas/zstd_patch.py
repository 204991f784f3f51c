"""Encode a text as a zstd frame against an earlier one (readable by `zstd -d --patch-from`).

Long-distance matching keeps patches small up to the size limit; the window covers both texts.
"""

from __future__ import annotations

import sys
import zlib

from lifeboat_alf.errors import ApplyError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SIZE_LIMIT = 16 << 20
"""Maximum bytes of the larger text. Applying needs about twice that in memory; larger files are sent whole."""

_LEVEL = 3
_SHORTEST_BASE = 8
_LARGEST_WINDOW = 27
_WORTH_IT = 2
"""A patch must be at most this fraction (one n-th) of the packed text."""


def make_patch(base: bytes, new: bytes, packed: int | None = None) -> bytes | None:
    """Return a patch from `base` to `new`; None where it would not pay or the texts are too large. `packed` is the
    compressed size of `new` in bytes, if known."""
    if len(base) < _SHORTEST_BASE or max(len(base), len(new)) > SIZE_LIMIT:
        return None
    patch = zstd.compress(new, options=_options(len(base) + len(new)), zstd_dict=_prefix(base))
    alone = len(zlib.compress(new, 1)) if packed is None else packed
    return patch if len(patch) * _WORTH_IT < alone else None


def apply_patch(base: bytes, patch: bytes, size: int) -> bytes:
    """Apply a patch to `base` and return the text of `size` bytes. Raises ApplyError when it does not fit."""
    if max(len(base), size) > SIZE_LIMIT or len(base) < _SHORTEST_BASE:
        raise ApplyError("the base or the result is too small or too large for a patch")
    window: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
    decompressor = zstd.ZstdDecompressor(zstd_dict=_prefix(base), options=window)
    try:
        new = decompressor.decompress(patch, max_length=size + 1)
    except zstd.ZstdError as error:
        raise ApplyError(f"the patch is damaged ({error})") from None
    if len(new) != size or not decompressor.eof or decompressor.unused_data:
        raise ApplyError(f"the result of the patch must have {size} bytes, but has a different size")
    return new


def _prefix(base: bytes) -> tuple[zstd.ZstdDict, int]:
    return zstd.ZstdDict(base, is_raw=True).as_prefix


def _options(length: int) -> dict[int, int]:
    parameter = zstd.CompressionParameter
    return {
        parameter.compression_level: _LEVEL,
        parameter.enable_long_distance_matching: 1,
        parameter.window_log: max(10, min(_LARGEST_WINDOW, length.bit_length())),
        parameter.checksum_flag: 0,
    }
