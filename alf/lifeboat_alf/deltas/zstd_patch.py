"""Patches: one text as a zstd frame against an earlier one (`zstd -d --patch-from` reads them).

Long-distance matching keeps them small up to the limit; the window covers both texts.
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
"""Bytes of the larger text. Applying costs about twice that in memory; larger files travel whole."""

_LEVEL = 3
_SHORTEST_BASE = 8
_LARGEST_WINDOW = 27
_WORTH_IT = 2
"""A patch must be at most one n-th of the plain packed text."""


def make_patch(base: bytes, new: bytes, packed: int | None = None) -> bytes | None:
    """A patch that leads from `base` to `new`; None where it would not pay or the texts are too large. `packed` is the
    size in bytes of `new` packed by itself, where the caller knows it."""
    if len(base) < _SHORTEST_BASE or max(len(base), len(new)) > SIZE_LIMIT:
        return None
    patch = zstd.compress(new, options=_options(len(base) + len(new)), zstd_dict=_prefix(base))
    alone = len(zlib.compress(new, 1)) if packed is None else packed
    return patch if len(patch) * _WORTH_IT < alone else None


def apply_patch(base: bytes, patch: bytes, size: int) -> bytes:
    """The text of `size` bytes that `patch` makes of `base`. Raises ApplyError when it does not."""
    if max(len(base), size) > SIZE_LIMIT or len(base) < _SHORTEST_BASE:
        raise ApplyError("a patch between texts of these sizes is never made")
    window: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
    decompressor = zstd.ZstdDecompressor(zstd_dict=_prefix(base), options=window)
    try:
        new = decompressor.decompress(patch, max_length=size + 1)
    except zstd.ZstdError as error:
        raise ApplyError(f"the patch is damaged ({error})") from None
    if len(new) != size or not decompressor.eof or decompressor.unused_data:
        raise ApplyError(f"the patch does not make a text of {size} bytes")
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
