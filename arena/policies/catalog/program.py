"""A program in any language that decides by messages over its pipes: docs/agents.md."""

from arena.policies.message_policy import MessageKind


class ProgramKind(MessageKind):
    """Plays every game with a program that the play nodes list."""

    id = "program"
    title = "Program"
    version = 1


POLICY = ProgramKind()
