"""The library that validates JSON documents, imported without its grammar of IRIs.

That grammar takes 1.5 CPU seconds to build at import. No schema of the format uses the formats `iri` and
`iri-reference`, the only ones that need it.
"""

from __future__ import annotations

import sys

_GRAMMAR = "rfc3987_syntax"

if _GRAMMAR in sys.modules:
    import jsonschema
else:
    sys.modules[_GRAMMAR] = None  # type: ignore[assignment]  # makes its import fail, which the library allows
    try:
        import jsonschema
    finally:
        del sys.modules[_GRAMMAR]

__all__ = ["jsonschema"]
