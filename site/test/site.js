// The built site, for the tests: its files, and a server of them.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the built site. */
export const dist = fileURLToPath(new URL('../.vitepress/dist', import.meta.url))

/** The path at which the site was built to be served. */
export const base = process.env.SITE_BASE ?? '/'

/** Returns the names of the files of the site with an extension, except those of the releases below it. */
export function files(extension) {
  return fs.readdirSync(dist, { recursive: true }).sort()
    .filter((name) => name.endsWith(extension) && !/^v\d/.test(name))
}

/** Returns the text of a file of the site. */
export function text(name) {
  return fs.readFileSync(path.join(dist, name), 'utf8')
}

/** Returns the name of the file that a server returns for a path of a URL, or undefined if there is none. */
export function fileOf(pathname) {
  if (!pathname.startsWith(base)) {
    return undefined
  }
  const name = decodeURIComponent(pathname.slice(base.length)).replace(/(^|\/)$/, '$1index.html')
  return fs.existsSync(path.join(dist, name)) && fs.statSync(path.join(dist, name)).isFile() ? name : undefined
}

const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml',
  '.png': 'image/png', '.json': 'application/json',
  '.wasm': 'application/wasm' }

/** Serves the site as GitHub Pages does, and returns the server. */
export async function serve() {
  const server = http.createServer((request, response) => {
    const name = fileOf(new URL(request.url, 'http://localhost').pathname)
    response.writeHead(name ? 200 : 404, { 'content-type': types[path.extname(name ?? '404.html')] ?? 'text/plain' })
    response.end(fs.readFileSync(path.join(dist, name ?? '404.html')))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}
