package chaostest

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv(envURL) != "" {
		println("replica:", beReplica().Error())
		os.Exit(3)
	}
	os.Exit(m.Run())
}
