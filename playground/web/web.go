// Package web has the files of the page, as npm run build writes them from the sources in
// this folder. The page is for programs that serve it with the answers of package playground,
// as the command retrygen ui does; playground/static.sh writes the one that needs no program.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var files embed.FS

// Files returns the files of the page. The one to open is local.html.
func Files() fs.FS {
	dist, err := fs.Sub(files, "dist")
	if err != nil {
		panic(err) // dist is a valid path
	}
	return dist
}
