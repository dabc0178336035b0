"""Server certificates, and clients over TLS."""
import shutil
import ssl
import subprocess

from support.clients import hs


def make_certificate(directory, name, kind="ec"):
    """A self-signed key and certificate of a server with this name."""
    key, certificate = directory / f"{name}-key.pem", directory / f"{name}.pem"
    algorithm = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] if kind == "ec" else ["rsa:2048"]
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            *algorithm,
            "-nodes",
            "-days",
            "2",
            "-subj",
            f"/CN={name}",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            key,
            "-out",
            certificate,
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


class Certificates:
    """The certificates with which a server is started; put() replaces them, and FLUSH SSL makes the server read
    them."""

    def __init__(self, directory):
        self.directory = directory
        self.certificate, self.key = directory / "server.pem", directory / "server-key.pem"
        self.put("first")

    def put(self, name, kind="ec"):
        certificate, key = make_certificate(self.directory, name, kind)
        shutil.copy(certificate, self.certificate)
        shutil.copy(key, self.key)

    def options(self):
        return f"--ssl-cert={self.certificate}", f"--ssl-key={self.key}"


def client_context(trusted=None, **attributes):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if trusted is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_verify_locations(trusted)
    for name, value in attributes.items():
        setattr(context, name, value)
    return context


def tls(port, context=None, session=None, **options):
    client = hs.Client(port, **options)
    try:
        client.socket = (context or client_context()).wrap_socket(
            client.socket, server_hostname="127.0.0.1", session=session
        )
    except BaseException:
        client.close()
        raise
    return client


def name_of(port):
    """The subject of the server's certificate."""
    with tls(port) as client:
        der = client.socket.getpeercert(binary_form=True)
    text = subprocess.run(
        ["openssl", "x509", "-inform", "der", "-noout", "-subject"], input=der, capture_output=True, check=True
    ).stdout
    return text.decode().strip().rpartition("=")[2].strip()
