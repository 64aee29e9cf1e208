"""Which pairing suits a question: the one that needs the fewest matches to its verdict."""

from collections.abc import Mapping

from arena.parameters import Value

ORDER = "order_information"
SAMPLE = "posterior_sample"


def choose_pairing(
    question: str, parameters: Mapping[str, Value]
) -> tuple[str, Mapping[str, Value]]:
    """Return the pairing of a question with these parameters, and the parameters of the pairing.

    The best turns on the first two ranks, a top k on the ranks k and k + 1; all other questions are
    about the order of many.
    """
    if question == "best":
        return SAMPLE, {"top": 2}
    if question == "top_k":
        return SAMPLE, {"edge": parameters["k"]}
    return ORDER, {}
