"""What bytes say when they are decoded: one bounded decoder for captures, reports and purges.

decoder      walks the layers, within limits; names what it did not look into
readings     decoded bytes that know which parts of the original spell them
wide         UTF-16 and UTF-32
runs         base64, base32, hexadecimal, Ascii85
rewriting    escapes, entities, quoted-printable, broken lines
sqlite_pages rows of SQLite databases that are larger than a page, also deleted ones
compressed   gzip, zlib, bzip2, xz and the members of zip archives
unread       forms that are not decoded
squeezing    text without its punctuation, for values that are found however they are broken up
"""
