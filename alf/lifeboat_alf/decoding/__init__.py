"""Decode nested encodings within limits, for captures, reports and purges.

decoder             walks the layers, within limits; names what it did not look into
decoded_bytes       decoded bytes that know which parts of the original spell them
wide_text           UTF-16 and UTF-32
encoded_runs        base64, base32, hexadecimal, Ascii85
undo_escapes        escapes, entities, quoted-printable, broken lines
sqlite_pages        rows of SQLite databases that are larger than a page, also deleted ones
compressed_streams  gzip, zlib, bzip2, xz and the members of zip archives
unread_forms        formats that are not decoded
squeezed_text       text without punctuation, to find values however they are broken up
"""
