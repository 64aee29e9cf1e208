"""`./run node`: makes this machine a play node of a server elsewhere, and undoes it.

Of our packages it needs those of the extra `node` only: neither Django nor a server of ours. All
that it writes is the folder `node` of the data folder, so that a stack may run beside it.
"""
