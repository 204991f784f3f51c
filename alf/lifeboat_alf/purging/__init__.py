"""Plan a purge (ALF §3.1.11) without doing anything: what matches, which records go with it, and how the bytes of every
version of a history read afterwards.

    purge_terms          texts and patterns to search for, however a file spells them
    line_widening        from a match to its line
    mask_match           a match as people may see it
    purge_items          the items of a plan, and the plan
    byte_spans           spans of bytes
    unescaped_views      bytes, and what they say behind their escapes
    multi_string_search  many texts at once
    bounded_patterns     regular expressions that terminate
    protected_spans      parts of JSON that are no memory
    record_kinship       which records go with others
    purge_survey         which records go, and what they said
    purged_texts         their texts in files
    record_line_cuts     record lines: cut, or closed by a tombstone
    body_cuts            files: cut so that they can still be read
    vector_cuts          vectors of purged records
    match_places         places, as people may see them
    collateral_losses    what goes besides the matches
    purge_planner        all of it together, and its own check
    file_purge           purge a snapshot file
"""
