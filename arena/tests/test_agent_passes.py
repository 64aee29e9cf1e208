import msgspec
import pytest

from arena.agent_passes import AskedAgent, make_agent_pass, read_agent_pass
from arena.messages import AgentOrder
from arena.passes import PassError, make_pass

KEY = "5" * 64
AGENT = AskedAgent(
    agent=7,
    name="ppo@1000",
    game="connect_four",
    observation_shape=[3, 6, 7],
    n_actions=7,
    plays=AgentOrder("network", {"temperature": 0.5}, "a" * 64, "gpu", "/files/checkpoints/a"),
)


def test_a_pass_tells_the_agent_that_it_was_made_for() -> None:
    token = make_agent_pass(KEY, AGENT, until=2_000)
    assert read_agent_pass(KEY, token, now=1_999) == AGENT
    assert token.isascii()
    assert "=" not in token


def test_a_pass_that_was_altered_or_has_ended_tells_nothing() -> None:
    token = make_agent_pass(KEY, AGENT, until=2_000)
    other = make_agent_pass(KEY, msgspec.structs.replace(AGENT, agent=8), until=2_000)
    swapped = other.rsplit(".", 2)[0] + "." + token.split(".", 1)[1]
    for refused, now, reason in (
        (swapped, 1_000, "not made here"),
        (token, 2_001, "ended 1 s ago"),
        (make_pass(KEY, "sim-1", until=2_000), 1_000, "no pass for an agent"),
        ("", 1_000, "no pass for an agent"),
    ):
        with pytest.raises(PassError, match=reason):
            read_agent_pass(KEY, refused, now=now)


@pytest.mark.parametrize("subject", ["agent:e30", "agent:!", "agent:abcde"])
def test_a_pass_with_fields_that_are_not_known_here_says_so(subject: str) -> None:
    with pytest.raises(PassError, match="another version"):
        read_agent_pass(KEY, make_pass(KEY, subject, until=2_000), now=1_000)
