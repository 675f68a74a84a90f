"""The servers that everything is measured against: nginx with one worker, and Tare's origin."""
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time

import harness

WAIT_S = 10

# Everything in memory, no logs, connections that live as long as the load; one TLS suite, so that all encrypt the same.
CONFIG = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log crit;
worker_rlimit_nofile 30000;
events {{ worker_connections 24000; }}
http {{
    access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    http2_max_concurrent_streams 1024;
    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
    server {{ listen 127.0.0.1:{http1} backlog=16384; location / {{ return 200 "hello world\\n"; }} }}
    server {{ listen 127.0.0.1:{tls} ssl backlog=16384; location / {{ return 200 "hello world\\n"; }} }}
    server {{ listen 127.0.0.1:{h2} http2; location / {{ return 200 "hello world\\n"; }} }}
    server {{ listen 127.0.0.1:{h2tls} ssl http2; location / {{ return 200 "hello world\\n"; }} }}
}}
"""


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for(port, process, what):
    """Until something listens; fails when the server ends or takes too long."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise harness.Failed(f"{what} ended at once with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise harness.Failed(f"{what} does not listen on port {port}")


class Nginx:
    """nginx on the server's core, with a port for each protocol."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="tare-bench-")
        self.ports = {name: free_port() for name in ("http1", "tls", "h2", "h2tls")}
        self.process = None

    def __enter__(self):
        try:
            self.certify()
            config = os.path.join(self.folder, "nginx.conf")
            with open(config, "w") as file:
                file.write(CONFIG.format(folder=self.folder, **self.ports))
            self.process = harness.start(harness.SERVER_CORE, ["nginx", "-p", self.folder, "-c", config],
                                        stderr=subprocess.DEVNULL)
            wait_for(self.ports["http1"], self.process, "nginx")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process:
            harness.stop(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def certify(self):
        """A certificate of its own authority (itself), for the address and for localhost. ECDSA, as is usual now."""
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-keyout", f"{self.folder}/key.pem", "-out", self.ca, "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
             "-addext", "basicConstraints=critical,CA:false"],
            check=True, capture_output=True)

    @property
    def ca(self):
        return f"{self.folder}/cert.pem"

    def url(self, name):
        scheme = "https" if name.endswith("tls") else "http"
        return f"{scheme}://127.0.0.1:{self.ports[name]}/"

    def tls_version(self):
        """What a client negotiates, to be written beside the figures."""
        context = ssl.create_default_context(cafile=self.ca)
        with socket.create_connection(("127.0.0.1", self.ports["tls"])) as plain, \
                context.wrap_socket(plain, server_hostname="localhost") as wrapped:
            return f"{wrapped.version()} {wrapped.cipher()[0]}"


class Origin:
    """`tare origin` on the server's core."""

    def __init__(self, tare, *options):
        self.words = [tare, "origin", "--listen", "127.0.0.1:0", *options]
        self.process = self.address = None

    def __enter__(self):
        self.process = harness.start(harness.SERVER_CORE, self.words, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        if not line:
            self.__exit__()
            raise harness.Failed("tare origin did not start")
        self.address = line.split()[-1].rstrip("/")
        return self

    def __exit__(self, *_):
        harness.stop(self.process)
        self.process.stdout.close()
