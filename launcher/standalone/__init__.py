"""A server that is no part of the stack and runs alone on loopback: started, asked, stopped.

What kind of server it is says a Service; its record lies in a folder of its name in the data
folder, its output in `log`.
"""
