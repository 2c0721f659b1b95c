"""One agent's connection: each line is answered here or passed on."""

from __future__ import annotations

import _thread
import json
import os
import select
import signal
import time
from collections import deque
from contextlib import suppress

from counterpoint import __version__
from counterpoint.kernel.client_session import open_client
from counterpoint.kernel.lost_calls import lost_call_error, unbegun_call_error, unread_call_error
from counterpoint.kernel.starting.signals import ending_signals
from counterpoint.relay.answers import (
    LINE_LIMIT,
    Lines,
    answered,
    envelope_version,
    is_list,
    is_object,
    offers_roots,
)
from counterpoint.relay.handover import find_mark, replace_program, try_program, write_state
from counterpoint.relay.server import (
    CHILDREN,
    PATIENCE,
    Refused,
    await_end,
    goes_on,
    open_server,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable, Sequence
    from typing import Any, Final

    from counterpoint.relay.answers import Answers

    Json = dict[str, Any]
    Asked = tuple[str, bool, bool, Json | None]
    """What is known of a request: its method if it begins a connection or never ends, whether it only reads, whether it has an
    idempotency key, and the result that it has without a server."""

ROOTS_SECONDS: Final = 10.0
"""How long a client's roots are waited for."""
GRACE: Final = 2.0
"""Seconds that answers may take after the end of the input."""

_CHUNK: Final = 65536
_PIECE: Final = 4096
"""Bytes that a pipe takes without waiting whenever it takes any (POSIX: PIPE_BUF)."""
BUFFER_BYTES: Final = 262_144
"""How much is held for one side before no more is read for it, beside the message that goes beyond; a message has at most `LINE_LIMIT` bytes."""
_PER_LINE: Final = 200
"""Bytes that a line which waits is counted with besides its own."""
_GREETING: Final = "counterpoint-relay"
_ROOTS: Final = "counterpoint-roots"
_INTERACTIVE: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""What may be answered by a question, since 2026-07-28."""
_BEGIN: Final = "initialize"
_ENDLESS: Final = "subscriptions/listen"
_PARSE_ERROR: Final = -32700
_GONE: Final = -32603
LOADED_MARK: Final = find_mark()
"""Which program this one was loaded from."""


class Project:
    """Where a connection is."""

    def __init__(
        self,
        database: str,
        greeting: bytes,
        identity: Json,
        open_: Callable[[], _socket.socket],
        grace: float = GRACE,
    ) -> None:
        """Take what is used from then on; grace: seconds that answers may take after the end of the input."""
        self.database, self.greeting, self.identity = database, greeting, identity
        self.open, self.grace = open_, grace


class Relay:
    """One agent's connection, from its first line to its last."""

    def __init__(
        self, answers: Answers, database: str, greeting: bytes, *, source: int = 0, sink: int = 1
    ) -> None:
        """Begin with nothing read; the client writes to the source and reads the sink."""
        self.words: Sequence[str] = ()
        """Those that this program was started with."""
        self.identity: Json = {}
        """What the connection is known by, for the program that is installed in place of this one."""
        self.find_project: Callable[[Sequence[object]], Project] | None = None
        """Finds by a client's roots where it is; there is no database before."""
        self._has_roots = self._is_asking = False
        self._roots_deadline, self._grace = 0.0, GRACE
        self._open = lambda: open_server(self._database, self._greeting)
        self._source, self._sink = source, sink
        self._mark = LOADED_MARK
        self._is_outdated = False
        self._answers = answers
        self._database = database
        self._greeting = greeting
        self._version = ""
        self._hello: Json | None = None
        self._is_greeted = False
        self._server: _socket.socket | None = None
        self._deadline = 0.0
        self._attempt = 0
        self._arrived: list[tuple[int, _socket.socket | Refused]] = []
        self._wake_reader, self._wake_writer = os.pipe()
        self._client = open_client()
        self._from_client, self._from_server = Lines(), Lines()
        self._lines: deque[bytes | None] = deque()
        self._to_server, self._to_client = bytearray(), bytearray()
        self._waiting: list[tuple[bytes, object, Asked | None]] = []
        self._waiting_bytes = 0
        self._under_way: dict[object, Asked] = {}
        self._last_sent: tuple[bytes, object] = b"", None
        self._is_unread = False
        self._is_over = self._was_told = False
        self._is_listening = self._has_hung_up = False
        self._signals = ending_signals()

    # ── the loop ──

    def run(self) -> int:
        """Relay until the client leaves or a signal says to; answer the exit code."""
        # A signal that comes while the pipe is full must not stop the program.
        os.set_blocking(self._wake_writer, False)
        for number in self._signals:
            signal.signal(number, _hear_signal)
        # A signal alone would not end a poll: Python goes on with it afterwards (PEP 475).
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        # What came while this program took the place of another one.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._signals)
        # Where there is no ledger yet, no server is started before a call needs one.
        is_found = self.find_project is None
        if is_found and (self._waiting or os.path.exists(self._database)):
            self._connect()
        try:
            self._relay()
        finally:
            signal.set_wakeup_fd(-1)
            if self._server is not None:
                self._server.close()
        return 0

    def _relay(self) -> None:
        leave = 0.0
        with suppress(BrokenPipeError):
            while not self._was_told:
                if self._is_outdated:
                    self._renew()
                now = time.monotonic()
                self._await_roots(now)
                # A client that ends its input may still read: what was asked is answered for a moment.
                is_leaving = self._is_over and self._server is not None
                # Nor is one waited for that has ended it and does not read.
                is_leaving = is_leaving or (self._has_hung_up and self._is_unheard)
                if is_leaving and not leave:
                    leave = now + self._grace
                elif not (is_leaving or self._is_over):
                    leave = 0.0
                if (self._is_over and self._is_done()) or (leave and now > leave):
                    break
                if self._deadline and now > self._deadline:
                    self._give_up(
                        Refused("no server within 20 seconds", "Run `counterpoint doctor`.")
                    )
                deadlines = (self._deadline, self._roots_deadline, leave)
                limits = [limit - now for limit in deadlines if limit]
                self._poll_once(max(0.0, min(limits)) if limits else None)
            if self._was_told:
                self._tell_lost()
            self._flush()

    # ── another version of the program ──

    def resume(self, state: Json) -> None:
        """Go on where another version of the program has left off."""
        self._version, self._hello = state["version"], state["hello"]
        part, size = state["half"]
        self._from_client.resume(part.encode("latin-1"), size)
        self._lines.extend(line and line.encode("latin-1") for line in state["lines"])
        self._to_client += state["to_client"].encode("latin-1")
        for line, name, call in state["waiting"]:
            self._wait(line.encode("latin-1"), name, call and tuple(call))
        self._is_over = state["is_over"]
        if self._client >= 0:
            os.close(self._client)
        self._client = state["client"]
        for child in state["children"]:
            await_end(child)

    def _state(self) -> Json:
        """Return what another version needs to go on: there is no server, so nothing is under way."""
        part, size = self._from_client.half
        waiting = [(line.decode("latin-1"), name, call) for line, name, call in self._waiting]
        return {
            **self.identity,
            "client": self._client,
            "children": CHILDREN[:],
            "version": self._version,
            "hello": self._hello,
            "half": [part.decode("latin-1"), size],
            "lines": [line and line.decode("latin-1") for line in self._lines],
            "to_client": self._to_client.decode("latin-1"),
            "waiting": waiting,
            "is_over": self._is_over,
        }

    def _renew(self) -> None:
        """Become the program that was installed, if it takes over what there is; else look for a server as this one."""
        self._is_outdated = False
        mark = find_mark()
        with suppress(OSError):
            descriptor = write_state(self._state())
            try:
                version = try_program(self.words, descriptor)
                if version == __version__:
                    self._mark = mark
                elif version:
                    self._replace(descriptor)
            finally:
                os.close(descriptor)
        if not self._was_told:
            _thread.start_new_thread(self._find_server, (self._attempt,))

    def _replace(self, descriptor: int) -> None:
        # A signal that comes now is the next program's, unless it has come already.
        signal.pthread_sigmask(signal.SIG_BLOCK, self._signals)
        try:
            if select.select([self._wake_reader], [], [], 0)[0]:
                self._read_wakeups()
            if not self._was_told:
                handed = (self._client, self.identity.get("lock", -1))
                replace_program(self.words, descriptor, handed)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._signals)

    # ── what is told at the end ──

    def _tell_lost(self) -> None:
        """Say of what was not answered that this process ends."""
        error = unbegun_call_error("Start this agent's server again and repeat it.")
        for _, name, call in self._waiting:
            if call is not None:
                self._send_client({"jsonrpc": "2.0", "id": name, "error": error})
        for name, call in self._under_way.items():
            self._refuse_lost(name, call)

    def _is_done(self) -> bool:
        awaited = any(method != _ENDLESS for method, _, _, _ in self._under_way.values())
        return not (self._waiting or self._lines or awaited or self._to_client)

    def _poll_once(self, limit: float | None) -> None:
        """Wait for what can be done, and do it."""
        poll = select.poll()
        poll.register(self._wake_reader, select.POLLIN)
        if not self._is_over:
            self._register_client(poll)
        # After the end of the input without answers too: so it is heard that nobody is left to read one.
        if self._to_client or self._is_over:
            poll.register(self._sink, select.POLLOUT if self._to_client else 0)
        server = -1
        if self._server is not None:
            server = self._server.fileno()
            events = 0 if self._is_unheard else select.POLLIN
            poll.register(server, events | (select.POLLOUT if self._to_server else 0))
        # A millisecond more: a limit is over when it is past, and not at the moment itself.
        ready = dict(poll.poll(None if limit is None else limit * 1000 + 1))
        if self._wake_reader in ready:
            self._read_wakeups()
        # What the client says now must not go to a server whose end is there to be read.
        if server in ready and self._server is not None:
            self._exchange(self._server, ready[server])
        if self._sink in ready:
            # Who is started again next must not find a relay that waits for what nobody will hear.
            if ready[self._sink] & ~select.POLLOUT:
                raise BrokenPipeError
            self._write()
        self._hear_client(ready)
        self._take_lines()

    @property
    def _is_crowded(self) -> bool:
        """Return whether so much is held that the client is not listened to: for a server, or of answers that it does not read."""
        return self._is_unheard or len(self._to_server) + self._waiting_bytes >= BUFFER_BYTES

    @property
    def _is_unheard(self) -> bool:
        return len(self._to_client) >= BUFFER_BYTES

    def _register_client(self, poll: select.poll) -> None:
        # Somebody else may keep the pipes of a client open that was killed.
        if self._client >= 0:
            poll.register(self._client, select.POLLIN)
        self._is_listening = not (self._lines or self._is_crowded)
        if self._is_listening or not self._has_hung_up:
            # That the input has ended is heard all the same.
            poll.register(self._source, select.POLLIN if self._is_listening else 0)

    def _hear_client(self, ready: dict[int, int]) -> None:
        """Take what the client says, or that its process has ended."""
        if self._source in ready and self._is_listening:
            self._read_client()
        elif self._source in ready:
            self._has_hung_up = True
        elif self._client in ready:
            # What it wrote before it ended was read first.
            self._is_over = True

    def _flush(self) -> None:
        """Give the client what is still for it, for a moment."""
        poll = select.poll()
        poll.register(self._sink, select.POLLOUT)
        while self._to_client and poll.poll(50):
            self._write()

    def _write(self) -> None:
        # In pieces that a pipe takes at once: standard output may be shared, so it is not made
        # non-blocking.
        del self._to_client[: os.write(self._sink, self._to_client[:_PIECE])]

    def _read_wakeups(self) -> None:
        """Take what threads and signals have left."""
        signalled = os.read(self._wake_reader, _CHUNK)
        self._was_told = any(number in signalled for number in self._signals)
        while self._arrived:
            attempt, outcome = self._arrived.pop(0)
            # A search that was given up may still find a server: that connection is nobody's.
            if attempt != self._attempt or not self._deadline:
                if not isinstance(outcome, Refused):
                    outcome.close()
            elif isinstance(outcome, Refused):
                self._give_up(outcome)
            else:
                self._begin(outcome)

    # ── the client's side ──

    def _read_client(self) -> None:
        try:
            chunk = os.read(self._source, _CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            self._is_over = True
            chunk = b"\n"  # the last line counts without its end too
        self._lines.extend(self._from_client.take(chunk))

    def _take_lines(self) -> None:
        """Take what the client has said, as long as there is room for what comes of it."""
        while self._lines and not self._is_crowded:
            line = self._lines.popleft()
            if line is None:
                words = f"Parse error: not a line of JSON of at most {LINE_LIMIT} bytes"
                self._refuse(None, _PARSE_ERROR, words)
            elif line.strip():
                self._take(line)

    def _take(self, line: bytes) -> None:
        """Return a line, or pass it on."""
        try:
            message = json.loads(line)
        # JSON that is nested too deep ends the parser, and must not end the relay.
        except (ValueError, RecursionError):
            self._refuse(None, _PARSE_ERROR, "Parse error: not JSON")
            return
        if not is_object(message) or message.get("jsonrpc") != "2.0":
            self._pass(line)
            return
        method, name, params = message.get("method"), message.get("id"), message.get("params", {})
        if name == _ROOTS and method is None:
            self._hear_roots(message)
        elif not isinstance(method, str) or not is_object(params):
            self._pass(line)
        elif "id" not in message:
            self._note(method, params, line)
        # To Python, true is a number; to JSON-RPC it is no id.
        elif isinstance(name, bool) or not isinstance(name, str | int):
            self._pass(line)
        else:
            result = self._known(method, params)
            if result is None:
                result = self._question(method, params)
            if result is not None:
                self._send_client({"jsonrpc": "2.0", "id": name, "result": result})
            elif method == _ENDLESS and self.find_project is not None and offers_roots(params):
                # It asks for no answer before there are any.
                self._wait(line, name, self._judge(method, params))
            else:
                self._pass(
                    self._without_roots(line, message, params), name, self._judge(method, params)
                )

    def _known(self, method: str, params: Json) -> Json | None:
        """Return the result that needs no server, or None."""
        if method == "initialize":
            return self._known_handshake(params)
        version = envelope_version(params)
        # Who shook hands and then sends an envelope mixes both eras; the server has words for that.
        if version is None or (version and self._hello is not None):
            return None
        result = self._answers.answer(version or self._version, method)
        if result is not None:
            self._version = version or self._version
        return result

    def _known_handshake(self, params: Json) -> Json | None:
        """Return the result of the first handshake, which the server gets too."""
        result = None if self._version else self._answers.initialized(params)
        if result is not None:
            # Kept, because the next server must be told too who is there.
            self._version, self._hello = result["protocolVersion"], params
            self._has_roots = self.find_project is not None and "roots" in params["capabilities"]
            if self._has_roots:
                # Only after it may a client be asked for anything.
                return result
            if self._answers.is_greeted_by_server:
                return None
            if self._server is not None:
                self._greet()
        return result

    def _note(self, method: str, params: Json, line: bytes) -> None:
        """Pass a notification on, if there is somebody to hear it."""
        if method == "notifications/initialized" and self._has_roots:
            self._ask_roots()
            return
        if method == "notifications/cancelled":
            # A request that was cancelled is not answered.
            name = params.get("requestId")
            if isinstance(name, str | int):
                self._under_way.pop(name, None)
                waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
                for line_, name_, call in waiting:
                    if name_ != name:
                        self._wait(line_, name_, call)
        knows = self._is_greeted or not self._answers.is_greeted_by_server
        if method == "notifications/initialized" and self._hello is not None and knows:
            return  # the greeting has said it
        if self._server is not None or self._waiting:
            self._pass(line)

    def _judge(self, method: str, params: Json) -> Asked:
        """Return what has to be known of a request if its answer never comes."""
        arguments: object = params.get("arguments")
        only_reads = method != "tools/call" or self._answers.only_reads(params)
        has_key = is_object(arguments) and "idempotency_key" in arguments
        is_asked = self._answers.is_greeted_by_server
        beginning = self._answers.beginning(method, params) if is_asked else None
        return method if method in {_BEGIN, _ENDLESS} else "", only_reads, has_key, beginning

    def _wait(self, line: bytes, name: object, call: Asked | None) -> None:
        """Keep a line for the next server."""
        self._waiting.append((line, name, call))
        self._waiting_bytes += len(line) + _PER_LINE

    def _pass(self, line: bytes, name: object = None, call: Asked | None = None) -> None:
        """Send a line to the server; what cannot have reached one waits for the next."""
        if self.find_project is not None and self._has_roots:
            self._wait(line, name, call)
            self._ask_roots()
            return
        self._settle(())
        server = self._server
        if server is not None and self._send(line, name):
            if call is not None:
                self._under_way[name] = call
            return
        if server is not None:
            # What it answered before it went is still there to be read.
            self._read(server)
            self._lose(server)
        self._wait(line, name, call)
        self._connect()

    # ── where the client is ──

    def _ask_roots(self) -> None:
        """Ask the client for its roots, once."""
        if self.find_project is None or self._is_asking:
            return
        self._is_asking = True
        self._roots_deadline = time.monotonic() + ROOTS_SECONDS
        self._send_client({"jsonrpc": "2.0", "id": _ROOTS, "method": "roots/list"})

    def _question(self, method: str, params: Json) -> Json | None:
        """Return the result that asks a client without a handshake for its roots; None where that has none, or need not be asked."""
        is_answer = "inputResponses" in params or "requestState" in params
        if (
            self.find_project is None
            or is_answer
            or method not in _INTERACTIVE
            or not offers_roots(params)
        ):
            return None
        self._roots_deadline = self._roots_deadline or time.monotonic() + ROOTS_SECONDS
        requests = {_ROOTS: {"method": "roots/list"}}
        return {"resultType": "input_required", "inputRequests": requests, "requestState": _ROOTS}

    def _without_roots(self, line: bytes, message: Json, params: Json) -> bytes:
        """Return the line of a request without the roots that it brings, which are heard."""
        if params.get("requestState") != _ROOTS:
            return line
        responses = params.get("inputResponses")
        self._hear_roots({"result": responses.get(_ROOTS) if is_object(responses) else None})
        own = {"inputResponses", "requestState"}
        params = {name: value for name, value in params.items() if name not in own}
        return json.dumps({**message, "params": params}).encode()

    def _hear_roots(self, message: Json) -> None:
        result = message.get("result")
        roots: Any = result.get("roots") if is_object(result) else ()
        self._settle(roots if is_list(roots) else ())

    def _await_roots(self, now: float) -> None:
        """Go on without roots if they do not come any more, and somebody waits for that."""
        is_late = self._roots_deadline and now > self._roots_deadline
        if is_late or (self._is_over and self._waiting and not self._lines):
            self._settle(())

    def _settle(self, roots: Sequence[object]) -> None:
        """Know from now on where this client is."""
        if self.find_project is None:
            return
        project = self.find_project(roots)
        self.find_project, self._roots_deadline = None, 0.0
        self._database, self._greeting = project.database, project.greeting
        self.identity, self._open, self._grace = project.identity, project.open, project.grace
        if self._waiting or os.path.exists(self._database):
            self._connect()

    # ── the server's side ──

    def _connect(self) -> None:
        """Look for a server in a thread, unless one does."""
        if self._deadline:
            return
        self._attempt += 1
        self._deadline = time.monotonic() + PATIENCE + 1
        if find_mark() != self._mark:
            # Not here: whoever asks for a server may not have said all that was lost.
            self._is_outdated = True
            return
        # `_thread`, because importing `threading` is a part of every start that would be felt.
        _thread.start_new_thread(self._find_server, (self._attempt,))

    def _find_server(self, attempt: int) -> None:
        try:
            outcome: _socket.socket | Refused = self._open()
        except Refused as refused:
            outcome = refused
        self._arrived.append((attempt, outcome))
        # A pipe that is full wakes the loop as well.
        with suppress(OSError):
            os.write(self._wake_writer, b"\0")

    def _begin(self, server: _socket.socket) -> None:
        """Speak with a server that was found: tell it who is there, and what waits."""
        self._server, self._deadline, self._from_server = server, 0.0, Lines()
        self._is_unread = False
        begins = any(call is not None and call[0] == _BEGIN for _, _, call in self._waiting)
        if self._hello is not None and not begins:
            self._greet()
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        for line, name, call in waiting:
            # Only once: a server that dies of a request must not be started for it for ever.
            self._send(line, name)
            if call is not None:
                self._under_way[name] = call

    def _greet(self) -> None:
        self._is_greeted = True
        hello = {"jsonrpc": "2.0", "id": _GREETING, "method": "initialize", "params": self._hello}
        self._send(json.dumps(hello).encode())
        self._send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def _send(self, line: bytes, name: object = None) -> bool:
        """Send a line, or keep what is not taken yet; answer whether there is a server to take it."""
        self._last_sent = line, name
        self._to_server += line + b"\n"
        return self._push()

    def _push(self) -> bool:
        if self._server is None:
            return False
        try:
            del self._to_server[: self._server.send(self._to_server)]
        except BlockingIOError:
            return True
        except OSError:
            # Its end is still to be read, after what it has said before.
            self._to_server.clear()
            return False
        return True

    def _exchange(self, server: _socket.socket, events: int) -> None:
        if events & select.POLLOUT:
            self._push()
        if events & ~select.POLLOUT and not self._read(server, pieces=1):
            self._lose(server)

    def _read(self, server: _socket.socket, pieces: int = 1 << 20) -> bool:
        """Take what the server has said; answer whether it may say more."""
        for _ in range(pieces):
            try:
                chunk = server.recv(_CHUNK)
            except BlockingIOError:
                return True
            except OSError as fault:
                # So the kernel says that its end had not read all that was sent: the last line is not among it.
                self._is_unread = isinstance(fault, ConnectionResetError)
                return False
            if not chunk:
                return False
            for line in self._from_server.take(chunk):
                if line is not None:
                    self._answer(line)
        return True

    def _answer(self, line: bytes) -> None:
        """Pass an answer on, unless it is one to this relay."""
        name = answered(line)
        if name == _GREETING:
            return
        self._under_way.pop(name, None)
        self._to_client += line + b"\n"

    def _lose(self, server: _socket.socket) -> None:
        """Say of everything under way that its answer never comes; what was not read goes to the next one."""
        # It lets go of who does not read; else it has ended.
        was_let_go = self._is_unheard and goes_on(self._database, server)
        server.close()
        self._server = None
        self._to_server.clear()
        lost, self._under_way = self._under_way, {}
        line, last = self._last_sent
        if self._is_unread and last in lost:
            self._wait(line, last, lost.pop(last))
            self._connect()
        for name, call in lost.items():
            self._refuse_lost(name, call, was_let_go=was_let_go)

    def _refuse_lost(self, name: object, call: Asked, *, was_let_go: bool = False) -> None:
        """Say of a request that its answer never comes, and whether it may be repeated."""
        if self._begin_without_server(name, call):
            return
        _, only_reads, has_key, _ = call
        say = unread_call_error if was_let_go else lost_call_error
        error = say(only_reads=only_reads, has_key=has_key)
        self._send_client({"jsonrpc": "2.0", "id": name, "error": error})

    def _give_up(self, refused: Refused) -> None:
        """Return everything that waits for a server that none is there."""
        self._deadline = 0.0
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        data = {"code": "no_server", "safe_to_retry": True, "hint": refused.hint}
        for _, name, call in waiting:
            if call is not None and not self._begin_without_server(name, call):
                self._refuse(name, _GONE, f"Nothing was done: {refused.message}", data)

    def _begin_without_server(self, name: object, call: Asked) -> bool:
        """Answer a beginning with what is known without a server, as far as it is one; its calls say what is wrong."""
        _, _, _, result = call
        if result is not None:
            self._send_client({"jsonrpc": "2.0", "id": name, "result": result})
        return result is not None

    def _refuse(self, name: object, code: int, words: str, more: Json | None = None) -> None:
        error = {"code": code, "message": words} | ({"data": more} if more else {})
        self._send_client({"jsonrpc": "2.0", "id": name, "error": error})

    def _send_client(self, message: Json) -> None:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        # Half a surrogate in what a client sent, such as an id, must not end the relay.
        self._to_client += text.encode("utf-8", "replace") + b"\n"


def _hear_signal(_number: int, _frame: object) -> None:
    """Do nothing: the byte that the signal leaves in the pipe says all."""
