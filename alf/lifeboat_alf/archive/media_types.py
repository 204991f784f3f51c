"""Media types by file name, from a fixed table, so that every machine gives the same answer."""

from __future__ import annotations

from pathlib import PurePosixPath

UNKNOWN = "application/octet-stream"

_TYPES = {
    "text/plain": "txt log text",
    "text/markdown": "md markdown",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "text/html": "html htm",
    "text/css": "css",
    "text/javascript": "js mjs cjs",
    "text/x-typescript": "ts tsx",
    "text/x-python": "py",
    "text/x-shellscript": "sh bash",
    "text/x-rust": "rs",
    "text/x-go": "go",
    "text/x-c": "c h",
    "text/x-java": "java",
    "text/calendar": "ics",
    "text/vcard": "vcf",
    "application/json": "json",
    "application/json5": "json5",
    "application/x-ndjson": "jsonl ndjson",
    "application/toml": "toml",
    "application/yaml": "yaml yml",
    "application/xml": "xml",
    "application/sql": "sql",
    "application/pdf": "pdf",
    "application/zip": "zip",
    "application/gzip": "gz tgz",
    "application/zstd": "zst",
    "application/x-tar": "tar",
    "application/x-7z-compressed": "7z",
    "application/vnd.sqlite3": "sqlite sqlite3 db",
    "application/epub+zip": "epub",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.apache.parquet": "parquet",
    "application/wasm": "wasm",
    "image/png": "png",
    "image/jpeg": "jpg jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/svg+xml": "svg",
    "image/avif": "avif",
    "image/heic": "heic",
    "image/tiff": "tif tiff",
    "image/x-icon": "ico",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg oga opus",
    "audio/wav": "wav",
    "audio/flac": "flac",
    "audio/mp4": "m4a",
    "video/mp4": "mp4 m4v",
    "video/webm": "webm",
    "video/quicktime": "mov",
    "font/woff2": "woff2",
    "font/ttf": "ttf",
}
_BY_SUFFIX = {suffix: kind for kind, suffixes in _TYPES.items() for suffix in suffixes.split()}


def guess_media_type(path: str) -> str:
    """Return the media type of a path, `application/octet-stream` for an unknown ending."""
    return _BY_SUFFIX.get(PurePosixPath(path).suffix[1:].lower(), UNKNOWN)
