// What the landing page shows. All of it is on docs/getting-started.md, whose code and outputs
// tests of the repository compare with those of the programs.
import fs from 'node:fs'
import { createMarkdownRenderer } from 'vitepress'
import { root } from './pages.js'

const page = root + 'docs/getting-started.md'

export default {
  watch: [page],
  async load() {
    const md = await createMarkdownRenderer(root)
    const highlight = (lang, lines) => md.render('```' + lang + '\n' + lines.join('\n') + '\n```')
    const shown = parts(fs.readFileSync(page, 'utf8'))
    return {
      policy: highlight('yaml', shown.policy),
      call: highlight('go', shown.call),
      mistake: highlight('console', shown.mistake),
      log: highlight('console', shown.log),
    }
  },
}

/** Returns the lines of the page that the landing page shows. */
export function parts(text) {
  const blocks = [...text.matchAll(/^```.*\n([^]*?)^```$/gm)].map(([, code]) => code.trimEnd().split('\n'))
  // The lines of the block with a first line, without it.
  const block = (first) => {
    const found = blocks.find((lines) => lines[0] === first)
    if (!found) {
      throw new Error(`docs/getting-started.md has no block that begins with ${first}, for the landing page`)
    }
    return found.slice(1)
  }
  // The lines from one that contains a text to the end of its block of code, without their indentation.
  const from = (lines, start) => {
    const first = lines.findIndex((line) => line.includes(start))
    if (first < 0) {
      throw new Error(`docs/getting-started.md has no line with ${start}, for the landing page`)
    }
    const indent = /^\t*/.exec(lines[first])[0]
    const length = lines.slice(first).findIndex((line) => !line.startsWith(indent))
    return lines.slice(first, first + length).map((line) => line.slice(indent.length).replaceAll('\t', '    '))
  }

  const main = block('// main.go')
  const log = block('$ go run .')
  return {
    policy: block('# retry.yaml').filter((line) => line !== '' && !/^\s*#/.test(line)),
    call: [...from(main, 'retry.WithObserver(').slice(0, 1), ...from(main, ':= client.Retry')],
    mistake: ['$ go tool retrygen check', ...block('$ go tool retrygen check')],
    // The first call: its retries, and what the program prints when it has succeeded.
    log: ['$ go run .', ...log.slice(0, log.findIndex((line) => !line.includes(' INFO retry ')) + 1)],
  }
}
