// Plugins of markdown-it: the pages are written for GitHub, and are rendered as they are.
import fs from 'node:fs'
import path from 'node:path'
import { pages, rewrites, root, sitePath } from './pages.js'

/** Returns the anchor that GitHub gives to a heading. */
export function slugify(heading) {
  return heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/ /g, '-')
}

/** Turns off what GitHub does not do, and what Vue would read as its own. */
export function asOnGitHub(md) {
  md.disable('emoji')
  md.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
  const { render } = md.renderer
  md.renderer.render = (...args) => render.apply(md.renderer, args).replaceAll('{{', '&#123;&#123;')
}

/**
 * Resolves relative links by the place of the page in the repository. What is no page is on
 * GitHub: a link to something that does not exist fails the build.
 */
export function repositoryLinks(md, { github, ref }) {
  md.core.ruler.push('repository_links', ({ tokens, env }) => {
    const file = env.realPath ?? env.path
    for (const { children } of tokens) {
      for (const token of children ?? []) {
        const href = token.type === 'link_open' && token.attrGet('href')
        if (href && !/^[a-z]+:|^#/.test(href)) {
          token.attrSet('href', resolve(path.relative(root, file), href))
        }
      }
    }
  })

  function resolve(file, href) {
    const [target, anchor] = decodeURI(href).split('#')
    const name = path.posix.join(path.posix.dirname(file), target).replace(/\/$/, '')
    const hash = anchor ? '#' + anchor : ''
    const page = [name, name + '/README.md'].find((page) => pages.includes(page))
    if (page) {
      return sitePath(page) + hash
    }
    const stat = fs.statSync(path.join(root, name), { throwIfNoEntry: false })
    if (!stat) {
      throw new Error(`${file} links to ${href}, which does not exist`)
    }
    return encodeURI(`${github}/${stat.isDirectory() ? 'tree' : 'blob'}/${ref}/${name}`) + hash
  }
}

/** Shows the text of a picture of another host, such as a badge: pages load nothing from others. */
export function ownPictures(md) {
  const { image } = md.renderer.rules
  md.renderer.rules.image = (tokens, i, options, env, self) => /^https?:/.test(tokens[i].attrGet('src')) ?
    md.utils.escapeHtml(tokens[i].content) : image(tokens, i, options, env, self)
}

/** A cell with more characters than this is hard to read in a column. */
const longCell = 120

/** Cells with at most so many characters share a line. */
const shortCell = 30

/** A row with more characters than this does not fit on a phone. */
const longRow = 60

/**
 * Renders a table with a long cell as a definition list: the first cell of a row is the term,
 * and the others define it, with the head of their column. A table whose rows are only too long
 * for a phone stays a table, and style.css makes blocks of its rows there.
 */
export function longTables(md) {
  md.renderer.rules.table_open = (tokens, i, options, env, self) => {
    tokens[i].attrSet('tabindex', '0') // the keyboard scrolls it
    return self.renderToken(tokens, i, options)
  }
  md.core.ruler.push('long_tables', (state) => {
    const tokens = []
    for (let i = 0; i < state.tokens.length; i++) {
      if (state.tokens[i].type !== 'table_open') {
        tokens.push(state.tokens[i])
        continue
      }
      const end = state.tokens.findIndex((token, j) => j > i && token.type === 'table_close')
      const table = state.tokens.slice(i, end + 1)
      tokens.push(...render(table, state))
      i = end
    }
    state.tokens = tokens
  })

  function render(table, state) {
    const [head, ...rows] = rowsOf(table)
    const lengths = rows.map((row) => row.map((cell) => visible(cell).length))
    if (lengths.flat().some((length) => length > longCell)) {
      return definitions(head, rows, state)
    }
    if (lengths.some((row) => row.reduce((sum, length) => sum + length, 0) > longRow)) {
      table[0].attrJoin('class', 'blocks')
      rows.forEach((row) => row.forEach((cell, i) => {
        cell.open.attrSet('data-head', visible(head[i]))
        if (lengths.every((row) => row[i] <= shortCell)) {
          cell.open.attrSet('class', 'short')
        }
      }))
    }
    return table
  }

  function definitions(head, rows, state) {
    const tag = (type, name, nesting, className) => {
      const token = new state.Token(type, name, nesting)
      token.block = true
      if (className) {
        token.attrSet('class', className)
      }
      return token
    }
    const labels = head.map(visible)
    // A column of short cells is on one line with others, after its head.
    const whole = head.map((_, i) => {
      const lengths = rows.map((row) => visible(row[i]).length).filter((length) => length > 0)
      return i === 0 || lengths.reduce((sum, length) => sum + length, 0) > shortCell * lengths.length
    })
    const single = whole.filter(Boolean).length <= 2
    const tokens = [tag('dl_open', 'dl', 1, 'definitions')]
    for (const row of rows) {
      tokens.push(tag('div_open', 'div', 1))
      row.forEach((cell, i) => {
        if (visible(cell) === '') {
          return
        }
        const name = i === 0 ? 'dt' : 'dd'
        tokens.push(tag(name + '_open', name, 1, whole[i] ? '' : 'short'))
        if (i > 0 && labels[i] && !(whole[i] && single)) {
          const label = new state.Token('html_inline', '', 0)
          label.content = `<span class="head">${md.utils.escapeHtml(labels[i])}</span> `
          tokens.push(label)
        }
        tokens.push(cell.inline, tag(name + '_close', name, -1))
      })
      tokens.push(tag('div_close', 'div', -1))
    }
    return [...tokens, tag('dl_close', 'dl', -1)]
  }
}

/** Returns the cells of the rows of a table: the token that opens each, and its content. */
function rowsOf(table) {
  const rows = []
  table.forEach((token, i) => {
    if (token.type === 'tr_open') {
      rows.push([])
    } else if (token.type === 'th_open' || token.type === 'td_open') {
      rows.at(-1).push({ open: token, inline: table[i + 1] })
    }
  })
  return rows
}

/** Returns the text of a cell that a reader sees. */
function visible(cell) {
  return cell.inline.children.map((token) => token.content).join('')
}

/** Renders the diagrams of a page in the browser, as GitHub does. */
export function diagrams(md) {
  const fence = md.renderer.rules.fence
  md.renderer.rules.fence = (tokens, i, ...rest) => {
    const { info, content } = tokens[i]
    return info.trim() === 'mermaid' ? `<Diagram source="${encodeURIComponent(content)}" />` :
      fence(tokens, i, ...rest)
  }
}
