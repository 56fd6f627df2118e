// Package web contains the files of the page, which npm run build generates from the
// sources in this folder. This page is for programs, such as the command retrygen ui,
// that serve it together with answers from package playground. The script
// playground/static.sh generates a page that needs no program.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var files embed.FS

// Files returns the files of the page. The file to open is local.html.
func Files() fs.FS {
	dist, err := fs.Sub(files, "dist")
	if err != nil {
		panic(err) // dist is a valid path
	}
	return dist
}
