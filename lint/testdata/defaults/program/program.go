// Program is stopped by its user.
package main

import (
	"database/sql"
	"net/http"
	"os/exec"
	"time"
)

type client interface {
	Ping() error
}

func main() { nopeMain(nil) }

func nopeMain(c client) {
	for c.Ping() != nil {
		time.Sleep(time.Second)
	}
}

// Nobody looks at a program that waits for its database.
func waitForDatabase(db *sql.DB) {
	for db.Ping() != nil { // want `retry of Ping never stops: .*RL101`
		time.Sleep(time.Second)
	}
}

func status(url string) (int, error) {
	resp, err := http.Get(url)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func waitForService(url string) {
	for { // want `retry of status never stops: .*RL101`
		if _, err := status(url); err == nil {
			return
		}
		time.Sleep(time.Second)
	}
}

func waitForProcess() {
	for { // want `retry of Run never stops: .*RL101`
		if err := exec.Command("pg_isready").Run(); err == nil {
			return
		}
		time.Sleep(time.Second)
	}
}
