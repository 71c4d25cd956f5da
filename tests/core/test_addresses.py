"""Which addresses are special, and which of several is connected to."""

from ipaddress import ip_address
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seaspider.core.addresses import SpecialAddressError, choose, parse_networks, special

# First and last address of each block, and its name. The addresses before and after are tested apart.
BLOCKS = [
    ("0.0.0.1", "0.255.255.255", "This network"),
    ("10.0.0.0", "10.255.255.255", "Private-Use"),
    ("100.64.0.0", "100.127.255.255", "Shared Address Space (CGNAT)"),
    ("127.0.0.0", "127.255.255.255", "Loopback"),
    ("169.254.0.0", "169.254.255.255", "Link Local"),
    ("172.16.0.0", "172.31.255.255", "Private-Use"),
    ("192.0.0.0", "192.0.0.7", "IPv4 Service Continuity Prefix"),
    ("192.0.0.11", "192.0.0.169", "IETF Protocol Assignments"),
    ("192.0.0.170", "192.0.0.171", "NAT64/DNS64 Discovery"),
    ("192.0.2.0", "192.0.2.255", "Documentation (TEST-NET-1)"),
    ("192.31.196.0", "192.31.196.255", "AS112-v4"),
    ("192.52.193.0", "192.52.193.255", "AMT"),
    ("192.88.99.3", "192.88.99.255", "Deprecated (6to4 Relay Anycast)"),
    ("192.168.0.0", "192.168.255.255", "Private-Use"),
    ("192.175.48.0", "192.175.48.255", "Direct Delegation AS112 Service"),
    ("198.18.0.0", "198.19.255.255", "Benchmarking"),
    ("198.51.100.0", "198.51.100.255", "Documentation (TEST-NET-2)"),
    ("203.0.113.0", "203.0.113.255", "Documentation (TEST-NET-3)"),
    ("224.0.0.0", "239.255.255.255", "Multicast"),
    ("240.0.0.0", "255.255.255.254", "Reserved"),
    ("::2", "::ffff:ffff", "Deprecated (IPv4-compatible)"),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "IPv4-IPv6 Translation (local use)"),
    ("100::", "100::ffff:ffff:ffff:ffff", "Discard-Only Address Block"),
    ("100:0:0:1::", "100::1:ffff:ffff:ffff:ffff", "Dummy IPv6 Prefix"),
    ("101::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "Reserved by IETF"),
    ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "Teredo"),
    ("2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "Benchmarking"),
    ("2001:3::", "2001:3:ffff:ffff:ffff:ffff:ffff:ffff", "AMT"),
    ("2001:4:112::", "2001:4:112:ffff:ffff:ffff:ffff:ffff", "AS112-v6"),
    ("2001:5::", "2001:f:ffff:ffff:ffff:ffff:ffff:ffff", "IETF Protocol Assignments"),
    ("2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", "Deprecated (ORCHID)"),
    ("2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", "ORCHIDv2"),
    ("2001:30::", "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff", "Drone Remote ID Protocol Entity Tags"),
    ("2001:40::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "IETF Protocol Assignments"),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "Documentation"),
    ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "6to4"),
    ("2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "Direct Delegation AS112 Service"),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "Documentation"),
    ("4000::", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "Reserved by IETF"),
    ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "Segment Routing (SRv6) SIDs"),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "Unique-Local"),
    ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "Link-Local Unicast"),
    ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "Deprecated (Site-Local)"),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "Multicast"),
]

SINGLE = {
    "0.0.0.0": "This host on this network",
    "192.0.0.8": "IPv4 dummy address",
    "192.0.0.9": "Port Control Protocol Anycast",
    "192.0.0.10": "TURN Anycast",
    "192.88.99.2": "6a44-relay anycast address",
    "255.255.255.255": "Limited Broadcast",
    "::": "Unspecified Address",
    "::1": "Loopback",
    "2001:1::1": "Port Control Protocol Anycast",
    "2001:1::2": "TURN Anycast",
    "2001:1::3": "DNS-SD Service Registration Protocol Anycast",
    # IPv4 inside.
    "::127.0.0.1": "Deprecated (IPv4-compatible)",
    "::ffff:127.0.0.1": "Loopback",
    "::ffff:a9fe:a9fe": "Link Local",
    "::ffff:0:127.0.0.1": "Reserved by IETF",
    "64:ff9b::7f00:1": "Loopback (as 127.0.0.1 inside IPv6)",
    "64:ff9b::10.1.2.3": "Private-Use (as 10.1.2.3 inside IPv6)",
    "64:ff9b::1:808:808": "Reserved by IETF",
    "2002:7f00:1::": "6to4",
    "2a00:1450::5efe:10.0.0.1": "Private-Use (as 10.0.0.1 inside IPv6)",
    "2a00:1450::200:5efe:127.0.0.1": "Loopback (as 127.0.0.1 inside IPv6)",
    # No plain address.
    "fe80::1%eth0": "zone id",
    "2a00:1450::1%1": "zone id",
    "127.1": "not an IP address",
    "0177.0.0.1": "not an IP address",
    "2130706433": "not an IP address",
    "[::1]": "not an IP address",
    "8.8.8.8/32": "not an IP address",
    " 8.8.8.8": "not an IP address",
    "localhost": "not an IP address",
    "": "not an IP address",
}

ORDINARY = [
    *("1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0"),
    *("169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0"),
    *("192.31.195.255", "192.31.197.0", "192.52.192.255", "192.52.194.0", "192.88.98.255", "192.88.100.0"),
    *("192.167.255.255", "192.169.0.0", "192.175.47.255", "192.175.49.0", "198.17.255.255", "198.20.0.0"),
    *("198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255"),
    *("2000::", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::", "2001:db7:ffff::", "2001:db9::"),
    *("2001:ffff:ffff::", "2003::", "2620:4f:7fff::", "2620:4f:8001::", "3ffe:ffff::", "3fff:1000::"),
    *("::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2a00:1450::5efe:8.8.8.8", "2a00:1450::5eff:10.0.0.1"),
]


@pytest.mark.parametrize(("first", "last", "name"), BLOCKS)
def test_blocks_from_first_to_last(first, last, name):
    middle = ip_address((int(ip_address(first)) + int(ip_address(last))) // 2)
    if middle.version != ip_address(first).version:
        middle = type(ip_address(first))(int(middle))
    assert [special(first), special(str(middle)), special(last)] == [name] * 3


@pytest.mark.parametrize(("address", "name"), SINGLE.items())
def test_single_addresses(address, name):
    assert special(address) == name


@pytest.mark.parametrize("address", ORDINARY)
def test_ordinary_addresses_beside_the_blocks(address):
    assert special(address) is None
    assert special(address.upper()) is None


LOOPBACK = "127.0.0.0/8"

EXEMPTIONS = {
    "itself": ("127.0.0.1", [LOOPBACK], None),
    "its-neighbour-block": ("10.0.0.1", [LOOPBACK], "Private-Use"),
    "one-address": ("::1", ["::1"], None),
    "mapped-is-the-same-endpoint": ("::ffff:127.0.0.1", [LOOPBACK], None),
    "mapped-of-another": ("::ffff:10.0.0.1", [LOOPBACK], "Private-Use"),
    "mapped-by-all-of-ipv6": ("::ffff:10.0.0.1", ["::/0"], "Private-Use"),
    "nat64-reaches-another-loopback": ("64:ff9b::127.0.0.1", [LOOPBACK], "Loopback (as 127.0.0.1 inside IPv6)"),
    "nat64-prefix-alone": ("64:ff9b::127.0.0.1", ["64:ff9b::/96"], "Loopback (as 127.0.0.1 inside IPv6)"),
    "nat64-and-inside": ("64:ff9b::127.0.0.1", ["64:ff9b::/96", LOOPBACK], None),
    "local-nat64-of-ordinary": ("64:ff9b:1::8.8.8.8", ["64:ff9b:1::/96"], None),
    "local-nat64-of-private": ("64:ff9b:1::a00:1", ["64:ff9b:1::/96"], "Private-Use (as 10.0.0.1 inside IPv6)"),
    "6to4-of-loopback": ("2002:7f00:1::1", ["2002::/16"], "Loopback (as 127.0.0.1 inside IPv6)"),
    "6to4-inside-only": ("2002:7f00:1::1", [LOOPBACK], "6to4"),
    "6to4-and-inside": ("2002:7f00:1::1", ["2002::/16", LOOPBACK], None),
    "teredo-server": ("2001:0:7f00:1::f7f7:f7f7", ["2001::/32"], "Loopback (as 127.0.0.1 inside IPv6)"),
    "teredo-client": ("2001:0:808:808::80ff:fffe", ["2001::/32"], "Loopback (as 127.0.0.1 inside IPv6)"),
    "teredo-of-ordinary": ("2001:0:808:808::f7f7:f7f7", ["2001::/32"], None),
    "compatible-of-loopback": ("::127.0.0.1", ["::/96"], "Loopback (as 127.0.0.1 inside IPv6)"),
    "isatap-inside-only": ("2a00:1450::5efe:7f00:1", [LOOPBACK], "Loopback (as 127.0.0.1 inside IPv6)"),
    "zone-id": ("::1%lo", ["::1"], "zone id"),
    "no-address": ("x", ["0.0.0.0/0", "::/0"], "not an IP address"),
}


@pytest.mark.parametrize(("address", "allowed", "name"), EXEMPTIONS.values(), ids=EXEMPTIONS.keys())
def test_allowed_networks(address, allowed, name):
    assert special(address, parse_networks(allowed)) == name


CHOICES = {
    "one": (["8.8.8.8"], "8.8.8.8"),
    "numeric-not-by-text": (["93.184.215.14", "9.9.9.9", "100.1.1.1"], "9.9.9.9"),
    "ipv4-first": (["2a00:1450::1", "8.8.8.8"], "8.8.8.8"),
    "ipv6-numeric": (["2a00:1450::10", "2a00:1450::9"], "2a00:1450::9"),
    "canonical": (["2A00:1450:0:0::1"], "2a00:1450::1"),
    "mapped-is-ipv4": (["::ffff:8.8.8.8", "2a00:1450::1"], "8.8.8.8"),
    "twice": (["8.8.8.8", "8.8.8.8"], "8.8.8.8"),
}


@pytest.mark.parametrize(("addresses", "expected"), CHOICES.values(), ids=CHOICES.keys())
def test_choice_does_not_depend_on_the_order_of_the_answers(addresses, expected):
    assert {choose(order) for order in permutations(addresses)} == {expected}


REFUSALS = {
    "only-special": (["127.0.0.1"], [], "127.0.0.1", "Loopback"),
    "one-of-two": (["8.8.8.8", "10.0.0.1"], [], "10.0.0.1", "Private-Use"),
    "ipv6-of-two": (["8.8.8.8", "fec0::1"], [], "fec0::1", "Deprecated (Site-Local)"),
    "allowed-and-special": (["127.0.0.1", "10.0.0.1"], [LOOPBACK], "10.0.0.1", "Private-Use"),
    "lowest-of-two-special": (["192.168.0.1", "10.0.0.1"], [], "10.0.0.1", "Private-Use"),
    "zone-id": (["8.8.8.8", "fe80::1%eth0"], [], "fe80::1%eth0", "zone id"),
    "no-address": (["8.8.8.8", "x"], [], "x", "not an IP address"),
}


@pytest.mark.parametrize(("addresses", "allowed", "address", "block"), REFUSALS.values(), ids=REFUSALS.keys())
def test_one_special_answer_refuses_all(addresses, allowed, address, block):
    for order in permutations(addresses):
        with pytest.raises(SpecialAddressError) as caught:
            choose(order, parse_networks(allowed))
        assert (caught.value.address, caught.value.block) == (address, block)
        assert str(caught.value) == f"special address {address}: {block}"
    # Twin: a check of the chosen address alone would have gone on.
    if "8.8.8.8" in addresses:
        assert special(addresses[0]) is None


def test_nothing_to_choose_from():
    with pytest.raises(ValueError, match="no address"):
        choose([])


def test_networks_keep_their_order():
    assert [str(network) for network in parse_networks(["::1", " 10.0.0.0/8 "])] == ["::1/128", "10.0.0.0/8"]
    assert parse_networks([]) == ()


@pytest.mark.parametrize("value", ["", "x", "10.0.0.1/8", "10.0.0.0/33", "127.1", "::ffff:127.0.0.0/104"])
def test_a_bad_network_is_named(value):
    with pytest.raises(ValueError, match="not a network") as caught:
        parse_networks(["127.0.0.0/8", value])
    assert repr(value) in str(caught.value)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_what_the_registries_of_this_python_know_is_special(address):
    """The other witness: whatever `ipaddress` calls private, reserved, link-local or multicast, the table does too."""
    if address.is_private or address.is_reserved or address.is_link_local or address.is_multicast:
        # Python calls these reserved as a whole; the table looks at the IPv4 address inside.
        judged_inside = str(address).startswith(("64:ff9b::", "::ffff:"))
        assert judged_inside or special(str(address)) is not None
