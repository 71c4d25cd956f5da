"""Which IP addresses a crawl may connect to, and which of several it does.

Decides from the address alone: a table of the special-purpose registries (IANA, RFC 6890 and RFC 8190, state of
October 2025), multicast (RFC 5771, RFC 4291) and the space that is no global unicast at all. IPv4 addresses inside IPv6
ones are unwrapped and judged as well. Never resolves a name and never connects: the caller checks every answer of the
resolver here and connects to the literal that `choose` returns.

`ipaddress.is_global` is not used: it calls site-local, NAT64 of a loopback, 6to4 and multicast addresses global, and
its answers changed between patch versions of Python. Blocks that the registry calls globally reachable but that hold no
web servers (AS112, AMT, anycast relays, ORCHID) are special too: nobody lists a page there in good faith.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class SpecialAddressError(ValueError):
    """An address that must not be connected to. `block` names the registered block, or says what else is wrong."""

    def __init__(self, address: str, block: str) -> None:
        super().__init__(address, block)
        self.address = address
        self.block = block

    def __str__(self) -> str:
        return f"special address {self.address}: {self.block}"


@dataclass(frozen=True, slots=True)
class _Block:
    network: Network
    name: str | None
    """None: ordinary addresses."""
    embedded: Callable[[int], tuple[int, ...]] | None = None
    """The IPv4 addresses inside an IPv6 address of this block, as numbers."""
    first: int = field(init=False)
    last: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", int(self.network.network_address))
        object.__setattr__(self, "last", int(self.network.broadcast_address))


def _low_32(number: int) -> tuple[int, ...]:
    return (number & 0xFFFF_FFFF,)


def _sixto4(number: int) -> tuple[int, ...]:
    """RFC 3056 2: the 32 bits after 2002."""
    return (number >> 80 & 0xFFFF_FFFF,)


def _teredo(number: int) -> tuple[int, ...]:
    """RFC 4380 4: the server, and the client with every bit inverted."""
    return (number >> 64 & 0xFFFF_FFFF, ~number & 0xFFFF_FFFF)


_IPV4 = (
    ("0.0.0.0/0", None),
    ("0.0.0.0/8", "This network"),
    ("0.0.0.0/32", "This host on this network"),
    ("10.0.0.0/8", "Private-Use"),
    ("100.64.0.0/10", "Shared Address Space (CGNAT)"),
    ("127.0.0.0/8", "Loopback"),
    ("169.254.0.0/16", "Link Local"),
    ("172.16.0.0/12", "Private-Use"),
    ("192.0.0.0/24", "IETF Protocol Assignments"),
    ("192.0.0.0/29", "IPv4 Service Continuity Prefix"),
    ("192.0.0.8/32", "IPv4 dummy address"),
    ("192.0.0.9/32", "Port Control Protocol Anycast"),
    ("192.0.0.10/32", "TURN Anycast"),
    ("192.0.0.170/31", "NAT64/DNS64 Discovery"),
    ("192.0.2.0/24", "Documentation (TEST-NET-1)"),
    ("192.31.196.0/24", "AS112-v4"),
    ("192.52.193.0/24", "AMT"),
    ("192.88.99.0/24", "Deprecated (6to4 Relay Anycast)"),
    ("192.88.99.2/32", "6a44-relay anycast address"),
    ("192.168.0.0/16", "Private-Use"),
    ("192.175.48.0/24", "Direct Delegation AS112 Service"),
    ("198.18.0.0/15", "Benchmarking"),
    ("198.51.100.0/24", "Documentation (TEST-NET-2)"),
    ("203.0.113.0/24", "Documentation (TEST-NET-3)"),
    ("224.0.0.0/4", "Multicast"),
    ("240.0.0.0/4", "Reserved"),
    ("255.255.255.255/32", "Limited Broadcast"),
)
_IPV6 = (
    ("::/0", "Reserved by IETF"),
    ("2000::/3", None),
    ("::/128", "Unspecified Address"),
    ("::1/128", "Loopback"),
    ("100::/64", "Discard-Only Address Block"),
    ("100:0:0:1::/64", "Dummy IPv6 Prefix"),
    ("2001::/23", "IETF Protocol Assignments"),
    ("2001:1::1/128", "Port Control Protocol Anycast"),
    ("2001:1::2/128", "TURN Anycast"),
    ("2001:1::3/128", "DNS-SD Service Registration Protocol Anycast"),
    ("2001:2::/48", "Benchmarking"),
    ("2001:3::/32", "AMT"),
    ("2001:4:112::/48", "AS112-v6"),
    ("2001:10::/28", "Deprecated (ORCHID)"),
    ("2001:20::/28", "ORCHIDv2"),
    ("2001:30::/28", "Drone Remote ID Protocol Entity Tags"),
    ("2001:db8::/32", "Documentation"),
    ("2620:4f:8000::/48", "Direct Delegation AS112 Service"),
    ("3fff::/20", "Documentation"),
    ("5f00::/16", "Segment Routing (SRv6) SIDs"),
    ("fc00::/7", "Unique-Local"),
    ("fe80::/10", "Link-Local Unicast"),
    ("fec0::/10", "Deprecated (Site-Local)"),
    ("ff00::/8", "Multicast"),
)
_WITH_IPV4 = (
    # RFC 6052: ordinary if the IPv4 address inside is. Behind DNS64 every IPv4-only name gets such an address.
    _Block(IPv6Network("64:ff9b::/96"), None, _low_32),
    # RFC 8215. Only the usual form, with the IPv4 address at the end, is unwrapped.
    _Block(IPv6Network("64:ff9b:1::/48"), "IPv4-IPv6 Translation (local use)", _low_32),
    _Block(IPv6Network("::/96"), "Deprecated (IPv4-compatible)", _low_32),
    _Block(IPv6Network("2002::/16"), "6to4", _sixto4),
    _Block(IPv6Network("2001::/32"), "Teredo", _teredo),
)


def _most_specific_first(*blocks: _Block) -> tuple[_Block, ...]:
    return tuple(sorted(blocks, key=lambda block: -block.network.prefixlen))


_TABLES = {
    4: _most_specific_first(*(_Block(IPv4Network(network), name) for network, name in _IPV4)),
    6: _most_specific_first(*_WITH_IPV4, *(_Block(IPv6Network(network), name) for network, name in _IPV6)),
}


def special(address: str, allowed: Iterable[Network] = ()) -> str | None:
    """The name of the special block that `address` (text of an IP address) is in, None if it is an ordinary one.

    A text that is no address, or has a zone id, is special: what is not understood is not permission. `allowed`
    exempts

    * an address that lies in an allowed network as it is written;
    * an IPv4-mapped one (::ffff:0:0/96) whose IPv4 address does: the system connects to that very address;
    * any other address with an IPv4 address inside only if both lie in allowed networks: a translator reaches the
      IPv4 address from its own place, where 127.0.0.0/8 or 10.0.0.0/8 is something else than here.
    """
    try:
        parsed = _parse(address)
    except SpecialAddressError as error:
        return error.block
    return _judge(parsed, tuple(allowed))


def choose(addresses: Sequence[str], allowed: Iterable[Network] = ()) -> str:
    """The one of a resolver's answers to connect to: the lowest IPv4 address, else the lowest IPv6 one.

    Returns its canonical text, an IPv4-mapped one as IPv4. Raises SpecialAddressError for the first special one in that
    order if any of them is special, ValueError if there is none.
    """
    if not addresses:
        raise ValueError("no address to choose from")
    exempt = tuple(allowed)
    candidates = sorted({_parse(address) for address in addresses}, key=lambda ip: (ip.version, int(ip)))
    for candidate in candidates:
        block = _judge(candidate, exempt)
        if block is not None:
            raise SpecialAddressError(str(candidate), block)
    return str(candidates[0])


def parse_networks(values: Iterable[str]) -> tuple[Network, ...]:
    """The networks named by `values` ("127.0.0.0/8", "::1"), in their order. Raises ValueError naming a bad value."""
    networks = []
    for value in values:
        try:
            network = ip_network(value.strip())
        except ValueError as error:
            raise ValueError(f"not a network in CIDR notation: {value!r} ({error})") from error
        if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped is not None:
            # Such addresses are judged as IPv4, so the network would never match.
            raise ValueError(f"not a network to allow: {value!r} (write its IPv4 network instead)")
        networks.append(network)
    return tuple(networks)


def _parse(address: str) -> Address:
    """The address, an IPv4-mapped one as IPv4. Raises SpecialAddressError for anything else than a plain address."""
    try:
        found = ip_of(address)
    except ValueError:
        raise SpecialAddressError(address, "not an IP address") from None
    if isinstance(found, IPv6Address):
        if found.scope_id is not None:
            raise SpecialAddressError(address, "zone id")
        return found.ipv4_mapped or found
    return found


@lru_cache(maxsize=64)
def ip_of(address: str) -> Address:
    """The address of a text, which a request asks for half a dozen times. Raises ValueError."""
    return ip_address(address)


def _judge(address: Address, allowed: tuple[Network, ...]) -> str | None:
    number = int(address)
    block = next(block for block in _TABLES[address.version] if block.first <= number <= block.last)
    exempt = any(address in network for network in allowed)
    if block.name is not None and not exempt:
        return block.name
    for inner in _embedded(address, block):
        name = _judge(inner, allowed if exempt else ())
        if name is not None:
            return f"{name} (as {inner} inside IPv6)"
    return None


def _embedded(address: Address, block: _Block) -> Iterator[IPv4Address]:
    """The IPv4 addresses that traffic to `address` may end at."""
    number = int(address)
    if block.embedded is not None:
        yield from map(IPv4Address, block.embedded(number))
    # ISATAP (RFC 5214 6.1): interface id 0000:5efe or 0200:5efe and the IPv4 address, under any prefix.
    elif address.version == 6 and number >> 32 & 0xFDFF_FFFF == 0x5EFE:
        yield IPv4Address(number & 0xFFFF_FFFF)
