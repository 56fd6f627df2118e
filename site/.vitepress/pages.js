// The pages of the site, and the navigation that docs/README.md and the other indexes define.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The pages outside of docs. */
const project = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']

/** The pages that only the site has, with their paths there. */
const own = [['site/index.md', 'index.md'], ['site/playground.md', 'playground/index.md']]

/** The Markdown files that are pages, as paths in the repository. */
export const pages = [
  ...fs.readdirSync(path.join(root, 'docs'), { recursive: true }).map((name) => path.posix.join('docs', name))
    .filter((name) => name.endsWith('.md')).sort(),
  ...project,
]

/** All other Markdown files of the repository, as patterns. */
export const excluded = ['!(docs|site)/**/*.md', 'site/!(index|playground).md', 'site/*/**/*.md',
  `!(${project.map((page) => page.replace('.md', '')).join('|')}).md`]

/**
 * The paths of pages on the site, where they differ from those in the repository: the page of a
 * folder is its README.
 */
export const rewrites = Object.fromEntries([
  ...own,
  ...pages.filter((page) => page.endsWith('/README.md')).map((page) => [page, page.replace('README.md', 'index.md')]),
])

/** Returns the path of the URL of a page. */
export function sitePath(page) {
  if (!pages.includes(page)) {
    throw new Error(`${page} is no page`)
  }
  return '/' + (rewrites[page] ?? page).replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '.html')
}

function read(page) {
  return fs.readFileSync(path.join(root, page), 'utf8')
}

/** Returns the title of a page, as text. */
export function title(page) {
  const heading = /^# (.+)$/m.exec(read(page))
  if (!heading) {
    throw new Error(`${page} has no title`)
  }
  return plain(heading[1])
}

function plain(markdown) {
  return markdown.replace(/`/g, '')
}

/** Returns what an index page links to, in its order: the pages below its folder, by text. */
function linked(index, text) {
  const found = new Map()
  for (const [, label, target] of text.matchAll(/\[([^\]]+)\]\(([^)#\s]+\.md)(?:#[^)]*)?\)/g)) {
    const page = path.posix.join(path.posix.dirname(index), target)
    if (page.startsWith(path.posix.dirname(index) + '/') && !found.has(page)) {
      found.set(page, plain(label))
    }
  }
  return found
}

/**
 * Returns the sidebars. The one of docs has the sections of docs/README.md, with the pages in
 * the order of their first links. A folder with an index of its own, such as docs/systems, adds the pages
 * that only its index links to. The rules have a sidebar of their own, because there are so many.
 */
export function sidebars() {
  const listed = new Set(['docs/README.md'])
  const item = (page, text) => {
    listed.add(page)
    return { text, link: sitePath(page) }
  }
  const groups = []
  for (const section of read('docs/README.md').split(/^## /m).slice(1)) {
    const items = []
    for (const [page, text] of linked('docs/README.md', section)) {
      if (listed.has(page)) {
        continue
      }
      items.push(item(page, text))
      if (page.endsWith('/README.md') && page !== rulesIndex) {
        for (const [other] of linked(page, read(page))) {
          if (!listed.has(other) && !read('docs/README.md').includes(`(${other.slice('docs/'.length)})`)) {
            items.push(item(other, title(other)))
          }
        }
      }
    }
    groups.push({ text: section.split('\n')[0], collapsed: groups.length > 0, items })
  }
  groups.push({ text: 'Project', collapsed: true, items: project.map((page) => item(page, title(page))) })
  const rules = ruleGroups(item)
  const missing = pages.filter((page) => !listed.has(page))
  if (missing.length > 0) {
    throw new Error(`not in the navigation: ${missing.join(', ')}: link each page from docs/README.md or the README ` +
      'of its folder')
  }
  return { '/docs/rules/': rules, '/': groups }
}

const rulesIndex = 'docs/rules/README.md'

/** Returns the rules in the order of their index, a group for each hundred. */
function ruleGroups(item) {
  const groups = new Map()
  for (const page of linked(rulesIndex, read(rulesIndex)).keys()) {
    const [, id, hundred] = /\/((\w+)\d\d)\.md$/.exec(page) ?? []
    if (id) {
      groups.set(hundred, [...(groups.get(hundred) ?? []), { ...item(page, title(page).replace(':', '')), id }])
    }
  }
  return [
    { text: 'Documentation', link: sitePath('docs/README.md') },
    { text: 'All rules', link: sitePath(rulesIndex) },
    ...[...groups.values()].map((items) => ({
      text: `${items[0].id} – ${items.at(-1).id}`,
      collapsed: true,
      items: items.map(({ text, link }) => ({ text, link })),
    })),
  ]
}
