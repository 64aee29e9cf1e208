"""Why a worker stands where it stands."""

from datetime import datetime

from matches.models import Worker
from matches.services.explanations.form import Explanation


def of_worker(worker: Worker, *, now: datetime) -> Explanation:
    """Return the explanation of a worker."""
    return Explanation("worker", worker.pk, str(worker), "", None, None, "", (), "", None, ())
