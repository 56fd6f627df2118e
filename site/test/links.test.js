import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pages, sitePath, title } from '../.vitepress/pages.js'
import { base, fileOf, files, text } from './site.js'

const html = new Map(files('.html').map((name) => [name, text(name)]))

/** Returns the values of an attribute of elements, by a pattern of their names. */
function values(source, element, attribute) {
  const tags = source.matchAll(new RegExp(`<(?:${element})\\b[^>]*?\\s${attribute}="([^"]*)"[^>]*>`, 'g'))
  return [...tags].map(([tag, value]) => ({ tag, value: value.replaceAll('&amp;', '&') }))
}

function idsOf(source) {
  return new Set(values(source, '[\\w-]+', 'id').map(({ value }) => value))
}

/** Returns the file and the anchor that a link on a page leads to, or undefined if it leaves the site. */
function targetOf(name, href) {
  const url = new URL(href, new URL(base + name, 'http://localhost'))
  return url.host === 'localhost' && url.protocol === 'http:' ?
    { file: fileOf(url.pathname), anchor: decodeURIComponent(url.hash.slice(1)) } : undefined
}

test('each page of the repository is on the site, with its title and a text', () => {
  for (const page of pages) {
    const source = html.get(fileOf(base + sitePath(page).slice(1)))
    assert.ok(source, `${page} is missing`)
    const [, content] = /<main[^>]*>([^]*)<\/main>/.exec(source) ?? assert.fail(`${page} has no content`)
    const visible = content.replace(/<[^>]*>/g, '').replaceAll('&lt;', '<').replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')
    assert.ok(visible.includes(title(page)), `${page}: the title is missing`)
    assert.ok(visible.length > title(page).length + 200, `${page}: the text is missing`)
  }
})

test('links and their anchors exist', () => {
  const ids = new Map([...html].map(([name, source]) => [name, idsOf(source)]))
  const broken = []
  for (const [name, source] of html) {
    for (const { value } of values(source, 'a', 'href')) {
      const target = targetOf(name, value)
      if (target && !target.file) {
        broken.push(`${name} links to ${value}, which does not exist`)
      } else if (target?.anchor && !ids.get(target.file).has(target.anchor)) {
        broken.push(`${name} links to ${value}: there is no such heading`)
      }
    }
  }
  assert.deepEqual(broken, [])
})

test('pages load nothing from another host', () => {
  const loads = []
  const check = (name, value) => {
    if (/^(?:[a-z]+:)?\/\//.test(value)) {
      loads.push(`${name} loads ${value}`)
    } else if (!value.startsWith('data:') && !targetOf(name, value)?.file) {
      loads.push(`${name} loads ${value}, which does not exist`)
    }
  }
  for (const [name, source] of html) {
    for (const { value } of values(source, 'script|img|iframe|source|video|audio|embed', 'src')) {
      check(name, value)
    }
    for (const { value } of values(source, 'link', 'href')) {
      check(name, value)
    }
    for (const [, value] of source.matchAll(/style="[^"]*url\(([^)]*)\)/g)) {
      check(name, value)
    }
  }
  for (const name of files('.css')) {
    for (const [, value] of text(name).matchAll(/(?:url\(|@import )["']?([^"')]+)/g)) {
      if (!value.startsWith('data:') && !value.startsWith('#')) {
        check(name, value)
      }
    }
  }
  assert.deepEqual(loads, [])
})

test('the navigation leads to each page', () => {
  const reached = new Set()
  const visit = (name) => {
    if (reached.has(name)) {
      return
    }
    reached.add(name)
    const source = html.get(name)
    const navigation = [...source.matchAll(/<(?:nav|aside class="VPSidebar)\b[^]*?<\/(?:nav|aside)>/g)].join('')
    for (const { value } of values(navigation, 'a', 'href')) {
      const target = targetOf(name, value)
      if (target?.file) {
        visit(target.file)
      }
    }
  }
  visit('index.html')
  assert.deepEqual([...html.keys()].filter((name) => !reached.has(name)), ['404.html'])
})
