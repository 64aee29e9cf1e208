"""`./run nodes`: play nodes on other machines, started, looked at and stopped by the system's ssh.

`host_files.py` reads which machines, `ssh.py` calls them and says what is wrong in one line,
`cargo.py` packs what a play node needs, `remote.py` has the scripts that run there, `commands.py`
puts them in order: look at all machines, bring all of them what they need, then start.
"""
