package postgres_test

import (
	"os"
	"testing"

	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
