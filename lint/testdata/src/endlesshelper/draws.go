package endlesshelper

import (
	"fmt"
	"net"
	"time"

	"github.com/retrygen/retrygen/lint/testdata/src/endlesshelper/helper"
)

// Each attempt takes another port.
func nopeDraws() net.Listener {
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("localhost:%d", helper.Port()))
		if err == nil {
			return l
		}
		time.Sleep(time.Second)
	}
}
