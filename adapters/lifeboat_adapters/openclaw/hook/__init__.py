"""An OpenClaw hook that tells Lifeboat when a session ended.

It lies in the state directory, where OpenClaw looks for hooks of all its agents:

    hooks/lifeboat/HOOK.md         describes the hook and lists its events
                   handler.js      starts `lifeboat sync` in the background
                   package.json    declares handler.js as a module
                   lifeboat.json   lists the agents; read at each event, so a new agent needs no restart

Only OpenClaw's own program changes `openclaw.json`. None of these files is captured: `hooks/lifeboat/` of the state
directory is excluded, and a configuration entry for a hook without files has no effect.
"""
