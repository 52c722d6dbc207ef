"""All claims, in the order of the page."""

from minitrpo.course.claims import of_adapting, of_simulators, of_steps, of_time
from minitrpo.course.claims.claim import Claim
from minitrpo.errors import BadInput

CLAIMS: dict[str, Claim] = {
    claim.name: claim for claim in (*of_time.CLAIMS, *of_steps.CLAIMS, *of_adapting.CLAIMS, *of_simulators.CLAIMS)
}


def find(names: list[str]) -> list[Claim]:
    """Return the claims of these names, all of them for "all"; BadInput for one that there is not."""
    if "all" in names:
        return list(CLAIMS.values())
    unknown = next((name for name in names if name not in CLAIMS), None)
    if unknown is not None:
        raise BadInput(f"there is no claim {unknown}: choose from {', '.join(CLAIMS)}, or all")
    return [CLAIMS[name] for name in dict.fromkeys(names)]
