"""All settings of Django, Channels and Celery.

Every value that differs between machines comes from the environment, read here by typed readers.
`./run` keeps secrets and the addresses of its processes in `var/secrets.env` and `var/stack.env`; a
variable that is set in the environment wins over both.
"""

import os
from urllib.parse import urlsplit

from arena.kombu_bindings import TRANSPORT_OPTIONS
from evalsite.environment import (
    load_files,
    read_database,
    read_flag,
    read_names,
    read_number,
    read_real,
    read_recorders,
    read_storage,
    read_text,
)
from evalsite.look import ADMIN_LOOK
from launcher.addresses import BROKER_PORT, FAST_PORT, HIGHEST_PORT, WEB_PORT, redis_url
from launcher.folders import ROOT, var_folder

BASE_DIR = ROOT
VAR = var_folder(os.environ)
load_files(VAR / "stack.env", VAR / "secrets.env")

# Only a placeholder for development: a system check refuses it when EVALSITE_DEBUG is off.
INSECURE_SECRET_KEY = "development-only-secret-key-refused-when-debug-is-off"
DEBUG = read_flag("EVALSITE_DEBUG", default=False)
SECRET_KEY = read_text("EVALSITE_SECRET_KEY", INSECURE_SECRET_KEY)
ALLOWED_HOSTS = read_names("EVALSITE_ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = read_names("EVALSITE_TRUSTED_ORIGINS", [])
# Proxies before this server that write X-Forwarded-For; 0: nobody may choose its address.
EVALSITE_PROXIES = read_number("EVALSITE_PROXIES", 0, highest=10)
# 1: browsers come by https alone. Off by default: plain `./run` is http on loopback.
EVALSITE_HTTPS = read_flag("EVALSITE_HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = EVALSITE_HTTPS
A_YEAR_S = 31_536_000
SECURE_HSTS_SECONDS = (
    read_number("EVALSITE_HSTS_S", A_YEAR_S, highest=10**9) if EVALSITE_HTTPS else 0
)
SECURE_HSTS_INCLUDE_SUBDOMAINS = EVALSITE_HTTPS
# Nodes, probes and Prometheus come from inside by http; a PUT that is redirected is lost.
SECURE_REDIRECT_EXEMPT = [r"^files/", r"^healthz$", r"^readyz$", r"^metrics$"]
# Without a proxy of ours anybody could write this header.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if EVALSITE_PROXIES else None
# Preloading binds a whole domain for months, and whoever sees the word in the header may apply
# for it: that is for the owner of the domain, not for one of its sites.
SILENCED_SYSTEM_CHECKS = ["security.W021"]

INSTALLED_APPS = [
    "unfold",  # before django.contrib.admin: it replaces the admin's templates
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_filters",
    "axes",
    "knox",
    "django_celery_beat",
    "matches",
    "experience",
    "pages",
    "evalsite",
]
MIDDLEWARE = [
    "evalsite.metrics.time_requests",  # first: it times all of them
    "evalsite.policy.send_policy",  # before what may answer by itself
    "django.middleware.security.SecurityMiddleware",
    "evalsite.statics.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "evalsite.gate.Gate",  # after who it is has been found out
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "pages.downloads.middleware.FilesOfPages",
    "pages.system.UnknownKinds",
    "axes.middleware.AxesMiddleware",  # last: it turns a locked-out login into its answer
]
ROOT_URLCONF = "evalsite.urls"
ASGI_APPLICATION = "evalsite.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# SQLite: IMMEDIATE takes the write lock at BEGIN: a transaction waits its turn instead of failing
# half-way with "database is locked" (8,308 times in a trial with deferred transactions).
SQLITE_PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
DATABASES = {"default": read_database("DATABASE_URL", f"sqlite:///{VAR / 'db.sqlite3'}")}
DATABASES["default"]["CONN_MAX_AGE"] = read_number("EVALSITE_CONN_MAX_AGE", 0, highest=86_400)
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["ENGINE"] = "evalsite.sqlite"
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": SQLITE_PRAGMAS,
    }
    # A file, as in production: the in-memory default knows no WAL and no second connection.
    DATABASES["default"]["TEST"] = {"NAME": str(VAR / "test_db.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

_BROKER_PORT = read_number("EVALSITE_BROKER_PORT", BROKER_PORT, highest=HIGHEST_PORT)
_FAST_PORT = read_number("EVALSITE_FAST_PORT", FAST_PORT, highest=HIGHEST_PORT)
# Each program has its own users of the servers; `./run` and compose give it these addresses.
REDIS_URL = read_text("REDIS_URL", redis_url(_BROKER_PORT))
FAST_REDIS_URL = read_text("FAST_REDIS_URL", redis_url(_FAST_PORT))
# Of what players upload, a server of its own; empty: the stack has none, and uploads are refused.
STREAM_REDIS_URL = read_text("STREAM_REDIS_URL", "")
# Steps that a user may upload within an hour; 0: as many as they like.
EVALSITE_EXPERIENCE_QUOTA = read_number("EVALSITE_EXPERIENCE_QUOTA", 200_000, highest=10**12)
# Files of uploads: deleted after so many days, 0: never; joined to so many rows, 0: never; chunks
# that are sent again are known for so many days, 0: for ever.
EVALSITE_EXPERIENCE_DAYS = read_number("EVALSITE_EXPERIENCE_DAYS", 0, highest=36_500)
EVALSITE_EXPERIENCE_COMPACT_ROWS = read_number(
    "EVALSITE_EXPERIENCE_COMPACT_ROWS", 500_000, highest=10**8
)
EVALSITE_EXPERIENCE_INDEX_DAYS = read_number("EVALSITE_EXPERIENCE_INDEX_DAYS", 2, highest=36_500)
# By which control admits nodes to the servers: of no other program, and empty where it may not.
EVALSITE_ADMIN_URLS = {
    "broker": read_text("EVALSITE_BROKER_ADMIN_URL", ""),
    "fast": read_text("EVALSITE_FAST_ADMIN_URL", ""),
    "stream": read_text("EVALSITE_STREAM_ADMIN_URL", ""),
}
# Servers on which our programs and nodes have no users of their own: pages and checks say so.
EVALSITE_UNENFORCED = read_names(
    "EVALSITE_UNENFORCED",
    [
        server
        for server, variable in (
            ("broker", "REDIS_URL"),
            ("fast", "FAST_REDIS_URL"),
            ("stream", "STREAM_REDIS_URL"),
        )
        if (url := os.environ.get(variable)) and urlsplit(url).username in (None, "default")
    ],
)
EVALSITE_SHARDS = read_number("EVALSITE_SHARDS", 1, highest=1_024)
EVALSITE_RECORDERS = read_recorders("EVALSITE_RECORDERS", engine=DATABASES["default"]["ENGINE"])
FAST_TIMEOUTS = {"socket_timeout": 2, "socket_connect_timeout": 1}
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": FAST_REDIS_URL,
        # Control must not wait for a fast store that hangs: it can do without.
        "OPTIONS": {"serializer": "evalsite.caching.JsonSerializer", **FAST_TIMEOUTS},
    }
}
# What an hour of a core of a play node and of a gpu worker costs, in whatever currency.
WORKER_PRICES = {
    "cpu": read_real("EVALSITE_PRICE_CPU", 0.0, highest=1e6),
    "gpu": read_real("EVALSITE_PRICE_GPU", 0.0, highest=1e6),
}
# What an hour of a play node costs on demand: what spot nodes save is told against it.
ON_DEMAND_PRICE = read_real("EVALSITE_PRICE_ON_DEMAND", 0.0, highest=1e6)
# How soon what waits should be played, and the most nodes that are wished for it.
BACKLOG_WITHIN_S = read_real("EVALSITE_BACKLOG_S", 600.0, lowest=1, highest=1e7)
MAX_DESIRED_NODES = read_number("EVALSITE_MAX_NODES", 20, highest=100_000)
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [{"address": FAST_REDIS_URL, **FAST_TIMEOUTS}]},
    }
}

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "login", "home", "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{validator}"}
    for validator in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
    )
]
AXES_VERBOSE = False
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
# Counts by address and by account, too, before anything is hashed: see there for the way back in.
AXES_HANDLER = "matches.access.login_limits.LoginHandler"
AXES_LOCKOUT_CALLABLE = "evalsite.signing_in.answer_lockout"
AXES_CLIENT_IP_CALLABLE = "matches.access.visitors.find_counted_address"
# Trying on does not make it longer: it ends a quarter of an hour after the last password.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"

# knox asks for it as soon as another model points at its tokens.
KNOX_TOKEN_MODEL = "knox.AuthToken"
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "matches.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["matches.api.permissions.IsAllowed"],
    "DEFAULT_THROTTLE_CLASSES": ["matches.api.throttling.Throttle"],
    "DEFAULT_FILTER_BACKENDS": ["matches.api.filters.FilterBackend"],
    "DEFAULT_PARSER_CLASSES": ["matches.api.fields.JsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "matches.api.schema.ApiSchema",
    "EXCEPTION_HANDLER": "matches.api.errors.exception_handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
# Requests a minute; 0: as many as they like. Who has no login is told apart by its address.
EVALSITE_USER_RATE = read_number("EVALSITE_USER_RATE", 3_000, highest=10**9)
EVALSITE_ANONYMOUS_RATE = read_number("EVALSITE_ANONYMOUS_RATE", 600, highest=10**9)
# Passwords a minute that are looked at from one address; each costs 0.3 s of CPU.
EVALSITE_LOGIN_RATE = read_number("EVALSITE_LOGIN_RATE", 30, highest=10**9)
# 0: pages, sockets, metrics and API are for who has logged in; evalsite/gate.py lists what is not.
EVALSITE_PUBLIC_READ = read_flag("EVALSITE_PUBLIC_READ", default=True)
SPECTACULAR_SETTINGS = {
    "TITLE": "evalsite",
    "DESCRIPTION": "Which agent is best, how sure that is, and what it costs to be surer.",
    "VERSION": "0.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "DatasetStateEnum": "experience.models.Dataset.State",
        "PlacementEnum": "matches.models.choices.Placement",
        "MatchStateEnum": "matches.models.Match.State",
        "PurposeEnum": "matches.access.passes.PURPOSES",
        "SeasonModeEnum": "matches.models.choices.SeasonMode",
        "TournamentStateEnum": "matches.models.Tournament.State",
        "TrainingRunStateEnum": "experience.models.TrainingRun.State",
        "VersionStateEnum": "experience.models.Release.State",
    },
}
UNFOLD = ADMIN_LOOK

# All may lie elsewhere, such as in S3: EVALSITE_CHECKPOINTS_STORAGE and _OPTIONS, and so on.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "checkpoints": read_storage("EVALSITE_CHECKPOINTS", VAR / "checkpoints"),
    "trajectories": read_storage("EVALSITE_TRAJECTORIES", VAR / "trajectories"),
    "experience": read_storage("EVALSITE_EXPERIENCE", VAR / "experience"),
    "training": read_storage("EVALSITE_TRAINING", VAR / "training"),
}
# Files of forms go to disk as they come, beside the storages: /tmp may lie in memory.
FILE_UPLOAD_HANDLERS = ["matches.store.blobs.BoundedUpload"]
FILE_UPLOAD_TEMP_DIR = str(VAR)
# Below this much free room on the disk of the data folder nothing is planned or sent; 0: never.
EVALSITE_DISK_FLOOR_MB = read_number("EVALSITE_DISK_FLOOR_MB", 256, highest=10**9)
# Where nodes reach the web server; a command looks here whether it takes trajectories.
_WEB_PORT = read_number("EVALSITE_PORT", WEB_PORT, highest=HIGHEST_PORT)
EVALSITE_SITE_URL = read_text("EVALSITE_SITE_URL", f"http://127.0.0.1:{_WEB_PORT}").rstrip("/")
# Networks that answer one row faster than this run in the players, the others on the gpu queue.
EVALSITE_LOCAL_MS = read_real("EVALSITE_LOCAL_MS", 0.3, highest=1e6)

STATIC_URL = "static/"
STATIC_ROOT = VAR / "static_collected"
NODE_MODULES = BASE_DIR / "node_modules"
STATICFILES_DIRS = [
    path
    for path in (
        BASE_DIR / "static",
        ("htmx", NODE_MODULES / "htmx.org" / "dist"),
        ("uplot", NODE_MODULES / "uplot" / "dist"),
    )
    if (path[1] if isinstance(path, tuple) else path).is_dir()
]
# Pages find their files without a collect step; a deployment may still run collectstatic.
WHITENOISE_USE_FINDERS = True

# Whoever shows it may read /metrics; without one, only callers on this machine may.
EVALSITE_METRICS_TOKEN = read_text("EVALSITE_METRICS_TOKEN", "")

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
# What no template of ours writes, as those do (pages/templatetags/readable.py).
FORMAT_MODULE_PATH = "evalsite.formats"
USE_TZ = True
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "evalsite.logs.PlainFormatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": "INFO"},
}

# Celery: the database owns the truth and retries, so the broker never redelivers.
CELERY_BROKER_URL = REDIS_URL
# What is no call of ours is dropped, not fatal.
CELERY_BROKER_TRANSPORT = "evalsite.transport:Transport"
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_RESULT_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_RESULT_BACKEND = None
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = False
CELERY_TASK_ACKS_ON_FAILURE_OR_TIMEOUT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {**TRANSPORT_OPTIONS, "retry_on_timeout": False, "max_retries": 0}
# Nobody commands control or the recorder through the broker: Flower shows their events.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_TASK_SEND_SENT_EVENT = False
CELERY_TASK_DEFAULT_QUEUE = "control"
CELERY_TASK_ROUTES = {"matches.record": {"queue": "reports"}, "matches.*": {"queue": "control"}}
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULER = "evalsite.ticking:TickingScheduler"
CELERY_BEAT_MAX_LOOP_INTERVAL = 1
