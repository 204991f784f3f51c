"""A plugin of Hermes that tells Lifeboat when a session ended.

It lies in the home of the agent, where Hermes looks for plugins:

    plugins/lifeboat/plugin.yaml    names the plugin
                     __init__.py    starts `lifeboat sync` in the background
                     lifeboat.json  the agent, and how Lifeboat is started

Hermes loads only plugins that `plugins.enabled` of `config.yaml` lists. Hermes' own command would write that file again
without its comments, so one entry is added to its text. The folder of the plugin is not captured, and an entry without
a plugin has no effect.
"""
