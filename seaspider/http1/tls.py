"""The TLS settings of the crawler: who is believed to be a server. Decides nothing about names or addresses."""

import ssl


def client_context(verify: bool = True, cafile: str | None = None) -> ssl.SSLContext:
    """A context for any number of exchanges (reading the trust store takes milliseconds: make one and keep it).

    TLS 1.2 or newer, the platform's trust store plus the PEM file `cafile`, ALPN `http/1.1` only. `verify=False` takes
    any certificate. Raises OSError if `cafile` cannot be read.
    """
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if cafile is not None:
        context.load_verify_locations(cafile=cafile)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
