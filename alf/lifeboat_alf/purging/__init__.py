"""Planning a purge (ALF §3.1.11), without doing anything: what is found, which records go with it, and how the bytes of
every version of a history read afterwards.

    wanted     what is searched for, and where it stands in bytes, however a file spells it
    widening   from a match to its line
    masking    a match as people may see it
    items      what a plan is made over, and the plan
    spans      places in bytes
    views      bytes, and what they say behind their escapes
    needles    many texts at once
    patterns   expressions that end
    shields    what in JSON is no memory
    chains     which records go with others
    surveying  which records go, and what they said
    texts      their texts in files
    lines      record lines: cut, or closed by a tombstone
    cuts       files: cut so that they still read
    vectors    vectors of purged records
    hits       places, as people may see them
    losses     what goes beside the matches
    states     the items of one state
    planning   all of it together, and its own check
"""
