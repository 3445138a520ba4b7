"""Somebody on the network: passes bytes on and keeps a copy of all of them."""

import socket
import threading


class Tap:
    """Listens in front of a site and writes down each direction of every connection in `streams`."""

    def __init__(self, port):
        self.behind = port
        self.streams = []
        self._ends = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._closed = False
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self):
        self._closed = True
        with socket.create_connection(("127.0.0.1", self.port)):
            self._thread.join()  # closing a socket would not wake who waits for it
        for end in (self._server, *self._ends):
            end.close()

    def _accept(self):
        while True:
            caller, _ = self._server.accept()
            if self._closed:
                caller.close()
                return
            threading.Thread(target=self._connect, args=(caller,), daemon=True).start()

    def _connect(self, caller):
        self._ends.append(caller)
        try:
            site = socket.create_connection(("127.0.0.1", self.behind))
        except OSError:  # nobody listens there yet; the caller tries again
            caller.close()
            return
        self._ends.append(site)
        for source, target in ((caller, site), (site, caller)):
            threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source, target):
        heard = bytearray()
        self.streams.append(heard)
        while True:
            try:
                content = source.recv(65536)
                heard += content
                if not content:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(content)
            except OSError:
                return
