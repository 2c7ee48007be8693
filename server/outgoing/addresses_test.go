package outgoing_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server/outgoing"
)

func TestWhatIsInside(t *testing.T) {
	t.Parallel()
	for inside, addresses := range map[bool][]string{
		true: {
			"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.100.100.200",
			"169.254.169.254", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
			"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe",
			"::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "100::1", "5f00::1",
		},
		false: {"1.1.1.1", "8.8.8.8", "172.32.0.1", "172.15.0.1", "100.128.0.1", "169.253.0.1", "192.169.0.1", "2606:4700::1111", "2a00:1450:4001::1", "64:ff9b::101:101", "::ffff:8.8.8.8"},
	} {
		for _, text := range addresses {
			require.Equal(t, inside, outgoing.Inside(netip.MustParseAddr(text)), text)
		}
	}
	require.True(t, outgoing.Inside(netip.Addr{}))
}
