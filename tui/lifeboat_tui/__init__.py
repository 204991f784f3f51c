"""The dashboard: a face of the command line, on a terminal.

What a screen shows is what its twin command says with `--json`, and what an action does is a command. So there is
nothing here but screens: no file, no database and no key is opened in this process.

    screens/    one file a screen: asks its twin, shows the answer, sends the user's actions
    widgets/    what screens are made of
    documents/  the shapes of the answers, one file a command
    link/       who answers: the daemon and the command line, or a recording
    acts.py     what can be done on a screen, by which key, and how it is called
"""
