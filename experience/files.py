"""Files under signed links: of runs, which trainers put and clients load, and of datasets."""

from django.core.files import File
from django.db.models import F
from django.http import HttpRequest, HttpResponseBase
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from experience.datasets.building import name_shard
from experience.datasets.manifests import shard_path
from experience.models import DatasetShard, Release
from experience.runs import files
from experience.segment_files import STORAGE
from matches.files.answers import answer_file, answer_upload
from matches.store import blobs
from matches.store.clock import db_now


# Trainers are no browsers and have no session: the signed link is what lets them in.
@csrf_exempt
@require_http_methods(["GET", "PUT"])
def serve_run_file(request: HttpRequest, run: str, sha256: str) -> HttpResponseBase:
    """Store or answer the file of a run whose SHA-256 is the last part of the address."""

    def store(n_bytes: int) -> bool:
        return files.store_file(run, sha256, request, n_bytes=n_bytes)

    def open_file() -> "File[bytes] | None":
        releases = Release.objects.filter(run__name=run, sha256=sha256)
        if releases.filter(state=Release.State.RETIRED).exists():
            return None
        file = blobs.open_file(files.name_file(run, sha256), storage=files.STORAGE)
        if file is not None:
            releases.update(n_downloads=F("n_downloads") + 1)
        return file

    if request.method == "PUT":
        return answer_upload(request, files.uploads_path(run), sha256, store, now=db_now())
    return answer_file(
        request,
        files.file_path(run, sha256),
        sha256,
        open_file,
        missing=f"there is no file {sha256} of run {run}: it has expired or was withdrawn",
        content_type="application/octet-stream",
        now=db_now(),
    )


@require_http_methods(["GET"])
def serve_shard(request: HttpRequest, dataset: str, sha256: str) -> HttpResponseBase:
    """Answer the shard of a dataset whose SHA-256 is the last part of the address."""

    def open_file() -> "File[bytes] | None":
        shards = DatasetShard.objects.filter(dataset__name=dataset, sha256=sha256)
        name = name_shard(dataset, sha256)
        return blobs.open_file(name, storage=STORAGE) if shards.exists() else None

    return answer_file(
        request,
        shard_path(dataset, sha256),
        sha256,
        open_file,
        missing=f"there is no shard {sha256} of dataset {dataset}: it was deleted",
        content_type="application/vnd.apache.parquet",
        now=db_now(),
    )


urlpatterns = [
    path("training/<slug:run>/<str:sha256>", serve_run_file, name="run-file"),
    path("datasets/<slug:dataset>/<str:sha256>", serve_shard, name="dataset-shard"),
]
