"""The dashboard: shows on a terminal what commands answer, and runs commands.

A screen shows what its twin command says with `--json`, and an action runs a command. The process opens no file of an
agent, no database and no key itself.

    screens/          one file or feature folder per screen: runs the twin, shows the answer, sends the user's actions
    widgets/          what screens are made of
    documents/        the shapes of the answers, one file per command
    link/             sources of answers: the daemon and the command line, or a recording
    user_actions.py   actions of screens with their keys and names
"""
