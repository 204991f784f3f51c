"""A hook of OpenClaw that tells Lifeboat when a session ended.

It lies in the state folder, where OpenClaw looks for hooks of all its agents:

    hooks/lifeboat/HOOK.md         what it is and which events it wants
                   handler.js      starts `lifeboat sync` in the background
                   package.json    says that handler.js is a module
                   lifeboat.json   for whom: read at each event, so another agent needs no restart

`openclaw.json` is only ever changed by OpenClaw's own program. Nothing here is captured: `hooks/lifeboat/` of the state
folder is no part of an archive, and an entry of the configuration for a hook that is not there does nothing.
"""
