package directcall

import (
	"context"
	"testing"
)

func TestOrder(t *testing.T) {
	if _, err := new(client).order(context.Background(), "o-1"); err != nil {
		t.Error(err)
	}
}
