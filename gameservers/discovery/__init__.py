"""Discovery: which game servers there are, and which of them can be played on now.

**Sources** say what they see (`sightings.Source`): clusters and services of a SkyPilot API server
(`skypilot.py`), all addresses of a DNS name and a list of addresses (`names.py`), and environments
that speak OpenEnv (`openenv.py`). None of them raises anything but `LookError`, whose text is the
reason that is shown.

**The registry** (`registry.py`) asks all of them once an interval, merges what they see by name and
address, refuses what lies outside EVALSITE_SERVER_NETWORKS (`arena/addresses.py`), looks each name
up once a round and tries each server at the IP address that this gave:

    registry = build_registry(os.environ)               # settings.py; SettingsError, AddressError
    await registry.refresh()                            # one round; ends within interval_s
    registry.servers() -> list[Server]                  # found, healthy, unreachable or gone
    registry.sources() -> list[SourceState]             # what each source said last, and when
    registry.report_dialled(name, game=..., slots=...)  # the head: a server has dialled in
    registry.report_hung_up(name, reason)               # the head: it is there no more

With `probe=None` the registry tries no server: the caller does, and those with an address that may
be connected to stay "found".

The head calls `refresh` in a loop with `registry.interval_s` between two calls, and on `POST
/discover`; a call during a round waits for that round and starts none. Whoever connects to a
`Server` connects to its `url`, which names the IP address that was admitted, and for TLS checks the
certificate against its `host`; it follows no redirect and uses no proxy, as the probe here does.

Clock, look-up, HTTP transport and probe are arguments everywhere: no test needs a network.
"""
