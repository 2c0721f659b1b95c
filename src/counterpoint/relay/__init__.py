"""What an agent's configuration starts: stdio to the one server of the database.

It is the standard library, these files and some of `kernel/` only, for a client waits for its start. The
lists, which never vary, are answered at once from the wheel or the user's cache (see
`kernel/listing_cache.py`); everything else is passed on, line by line, to the server that
`protocol/rendezvous.py` tells how to find. A server that is missing is started by whoever holds
`<prefix>.starting`; the others wait for that lock and then find it.

What is known of a request under way is its id, and what a client may do if its answer never comes.
When the server dies, each is answered with an error that says so; the next one starts or finds
another server, which learns who is there as the first one did. A session's id is made here, so
that it goes on.

What the client does not take, and what no server takes, is held up to `BUFFER_BYTES` (connection.py) and one message; then
nothing more is read for it. When another version is installed the relay becomes that one (handover.py).

A call is the relay's if and only if (1) the system has Unix sockets, (2) its flags are known here
and none asks for help or `--in-process`, (3) the database is a file, (4) its surface has a listing.
Otherwise the command line takes it, and has the words for what is wrong.
"""
