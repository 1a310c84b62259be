"""Claims about attention heads, proved by exhaustive or exact computation.

    from attnprobe.theory import explain, realise, verify
    print(*explain("T5"), sep="\\n")
    [found.verdict for found in verify("T5", r=8)]
    realise([[1], [2], [0]]).count

Importing this package loads no numerical library: a name is imported when it is first asked for.
"""

from typing import TYPE_CHECKING

if __name__ == "theory":
    raise ImportError("'theory' is part of attnprobe: run `pip install -c constraints.txt .`, then `import attnprobe.theory`")

HOMES = {
    "verify": "runs",
    "explain": "explanations",
    "Explanation": "explanations",
    "catalogue": "claim",
    "Entry": "claim",
    "Claim": "claim",
    "Case": "claim",
    "Span": "claim",
    "Certificate": "claim",
    "realise": "realisation",
    "Realisation": "realisation",
    "bound": "rank",
    "ceiling": "rank",
    "impossible": "rank",
    "Impossible": "rank",
    "p_value": "sign_test",
    "majority_ceiling": "recall",
}

if TYPE_CHECKING:
    from attnprobe.theory.claim import Case as Case
    from attnprobe.theory.claim import Certificate as Certificate
    from attnprobe.theory.claim import Claim as Claim
    from attnprobe.theory.claim import Entry as Entry
    from attnprobe.theory.claim import Span as Span
    from attnprobe.theory.claim import catalogue as catalogue
    from attnprobe.theory.explanations import Explanation as Explanation
    from attnprobe.theory.explanations import explain as explain
    from attnprobe.theory.rank import Impossible as Impossible
    from attnprobe.theory.rank import bound as bound
    from attnprobe.theory.rank import ceiling as ceiling
    from attnprobe.theory.rank import impossible as impossible
    from attnprobe.theory.realisation import Realisation as Realisation
    from attnprobe.theory.realisation import realise as realise
    from attnprobe.theory.recall import majority_ceiling as majority_ceiling
    from attnprobe.theory.runs import verify as verify
    from attnprobe.theory.sign_test import p_value as p_value
else:

    def __getattr__(name):
        """A public name, imported now."""
        if name not in HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)

    def __dir__():
        return sorted(HOMES)
