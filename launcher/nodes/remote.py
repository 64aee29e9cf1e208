"""What runs on the other machine: short scripts of sh, which every system of this kind has.

All that belongs to a node lies in one folder there: `code`, `plugins`, `.venv`, `node.env` (its
secrets, for its user only), `node.log` and `node.pid`.
"""

from typing import Final

# A session begins at home; what is named from there stays so after a change of folder.
_FOLDER: Final = """
set -eu
folder=$1 name=$2
case $folder in /*) ;; *) folder=$HOME/$folder ;; esac
"""
# A number may belong to another program after a restart of the machine: its words say whose it is.
_FIND: Final = """
pid=$(cat "$folder/node.pid" 2>/dev/null) || pid=
case $(ps -o args= -p "${pid:-0}" 2>/dev/null) in *"-Q play.$name "*) ;; *) pid= ;; esac
"""

LOOK: Final = (
    _FOLDER
    + """
need_kb=$3 python=$4; shift 4
command -v tar >/dev/null || { echo "tar is not installed there" >&2; exit 1; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "it has no Python 3.11 or newer as $python: install it, or name one with --python" >&2
    exit 1; }
"""
    + _FIND
    + """
[ -z "$pid" ] || { echo "a node of this name runs there (pid $pid): ./run nodes stop ends it" >&2
    exit 1; }
mkdir -p "$folder"
touch "$folder/.writable" && rm "$folder/.writable"
free_kb=$(df -Pk "$folder" | awk 'NR == 2 {print $4}')
[ "$free_kb" -ge "$need_kb" ] || {
    echo "its disk is full: $((free_kb / 1024)) MiB are free in $folder, $((need_kb / 1024)) are \
needed: make room there, or name another --folder" >&2
    exit 1; }
"""
)
"""$1 folder, $2 name, $3 KiB needed, $4 Python."""

UNPACK: Final = (
    _FOLDER
    + """
umask 077
rm -rf "$folder/new"; mkdir -p "$folder/new"
tar -xzmf - -C "$folder/new" || { rm -rf "$folder/new"; exit 1; }
rm -rf "$folder/code" "$folder/plugins"
mv "$folder/new/code" "$folder/code"
[ ! -d "$folder/new/plugins" ] || mv "$folder/new/plugins" "$folder/plugins"
rm -rf "$folder/new"
"""
)
"""$1 folder, $2 name; the tar file on standard input. What was there stays until all has come."""

INSTALL: Final = (
    _FOLDER
    + """
cd "$folder/code"
sum=$(cat pyproject.toml constraints.txt | cksum)" $3"
[ "$(cat "$folder/.venv/installed" 2>/dev/null)" = "$sum" ] && exit 0
"$4" -m venv "$folder/.venv"
"$folder/.venv/bin/python" -m pip install -q --no-compile -c constraints.txt ".[$3]" >&2
echo "$sum" > "$folder/.venv/installed"
"""
)
"""$1 folder, $2 name, $3 extras of our package, $4 Python."""

REACH: Final = (
    _FOLDER
    + """
python=$3; shift 3
case $python in "") python=$folder/.venv/bin/python ;; esac
exec "$python" -c '
import socket, sys
for place in sys.argv[1:]:
    name, host, port = place.split("|")
    try:
        socket.create_connection((host, int(port)), 5).close()
    except OSError as error:
        why = error.strerror or error
        sys.exit(f"{name} at {host}:{port} cannot be reached from there ({why}): open it to that "
                 "machine, or say with --server by which name it is reached")
' "$@"
"""
)
"""$1 folder, $2 name, $3 Python, empty for the one installed there; then name|host|port each."""

START: Final = (
    _FOLDER
    + """
umask 077
python=$3
case $python in "") python=$folder/.venv/bin/python ;; esac
# Where the folder is, only this machine knows.
{ cat; printf 'EVALSITE_CACHE="%s/cache"\n' "$folder"; } > "$folder/node.env"
cd "$folder/code"
set -a; . "$folder/node.env"; set +a
nohup setsid "$python" -m celery -A workers worker -P solo -Q "play.$name" -n "$name@%h" -E \
    -l WARNING --without-gossip --without-mingle </dev/null >"$folder/node.log" 2>&1 &
echo $! > "$folder/node.pid"
sleep 3
"""
    + _FIND
    + """
[ -n "$pid" ] || { echo "the node ended at once: $(tail -n 1 "$folder/node.log")" >&2
    rm -f "$folder/node.env" "$folder/node.pid"; exit 1; }
echo "$pid"
"""
)
"""$1 folder, $2 name, $3 Python, empty for the one installed there; the node's environment on
standard input, as lines of sh in which $folder may stand."""

STOP: Final = (
    _FOLDER
    + _FIND
    + """
rm -f "$folder/node.env" "$folder/node.pid"
[ -n "$pid" ] || { echo "did not run"; exit 0; }
kill -TERM "$pid"
waited=0
while kill -0 "$pid" 2>/dev/null && [ $waited -lt 20 ]; do sleep 1; waited=$((waited + 1)); done
kill -0 "$pid" 2>/dev/null || { echo "stopped"; exit 0; }
kill -KILL -- "-$pid" 2>/dev/null || kill -KILL "$pid"
echo "killed after 20 s"
"""
)
"""$1 folder, $2 name."""

STATUS: Final = (
    _FOLDER
    + _FIND
    + """
[ -d "$folder/code" ] || { echo "no node was started there"; exit 0; }
[ -n "$pid" ] || { echo "stopped"; exit 0; }
echo "running, pid $pid, for $(ps -o etime= -p "$pid" | tr -d ' ')"
"""
)
"""$1 folder, $2 name."""
