// The version menu. A site documents one commit: its version is the first one in CHANGELOG.md.
import fs from 'node:fs'
import path from 'node:path'
import { root, sitePath } from './pages.js'

const heading = /^## (v\d\S*)(?: \((.+)\))?$/gm

function versions(changelog) {
  return [...fs.readFileSync(changelog, 'utf8').matchAll(heading)].map(([line, name, note]) => ({
    name, text: line.slice('## '.length), released: note !== 'unreleased',
  }))
}

/**
 * Returns the menu: the version of this site, its changes, and the other versions, which
 * publish.sh builds next to it. It passes the newest CHANGELOG.md, so that the sites of old
 * versions list those that came later.
 */
export function versionMenu({ url, changelog = path.join(root, 'CHANGELOG.md') }) {
  const [current] = versions(path.join(root, 'CHANGELOG.md'))
  const others = versions(changelog).filter(({ name }) => name !== current.name)
  return {
    text: current.text,
    items: [
      { text: current.released ? 'Changes' : 'What it will contain', link: sitePath('CHANGELOG.md') },
      ...others.map(({ name, text, released }) => ({
        text, link: released ? `${url}/${name}/` : `${url}/`, target: '_self', noIcon: true,
      })),
    ],
  }
}
