import assert from 'node:assert/strict'
import fs from 'node:fs'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import puppeteer from 'puppeteer-core'
import { base, files, serve } from './site.js'

// For people who change how the site looks; git ignores the folder.
const screenshots = fileURLToPath(new URL('../screenshots/', import.meta.url))

const widths = [390, 820, 1440]

let server, browser, origin

before(async () => {
  const programs = ['chromium', 'google-chrome', 'chrome'].map((name) => `/usr/bin/${name}`)
  const executablePath = process.env.CHROMIUM ?? programs.find((name) => fs.existsSync(name))
  assert.ok(executablePath, 'the tests need a browser, as from: apt-get install chromium')
  server = await serve()
  origin = `http://127.0.0.1:${server.address().port}`
  browser = await puppeteer.launch({ executablePath, args: ['--no-sandbox'] })
  fs.mkdirSync(screenshots, { recursive: true })
})

after(async () => {
  await browser?.close()
  server?.close()
})

/** Opens a page, calls look with it, and fails if the page reports an error or asks another host. */
async function open(pathname, { width = 1280, height = 800, scheme = 'light' }, look) {
  const page = await browser.newPage()
  const complaints = []
  page.on('console', (message) => {
    if (['error', 'warn'].includes(message.type())) {
      complaints.push(message.text())
    }
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) {
      complaints.push(`request to ${request.url()}`)
    }
  })
  try {
    await page.setViewport({ width, height })
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
    await page.goto(origin + base + pathname, { waitUntil: 'networkidle0' })
    await look(page)
    assert.deepEqual(complaints, [], `${pathname} at ${width} px`)
  } finally {
    await page.close()
  }
}

/** Returns how much wider the page is than its window, and the elements that make it so. */
function overflow(page) {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth
    if (document.documentElement.scrollWidth <= width) {
      return []
    }
    return [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > width + 1)
      .map((e) => `${e.tagName}.${e.className}: ${e.textContent.slice(0, 40)}`).slice(0, 5)
  })
}

const looked = { landing: '', playground: 'playground/', language: 'docs/language.html', rule: 'docs/rules/P401.html',
  concepts: 'docs/concepts.html', contents: 'docs/', readme: 'README.html', rules: 'docs/rules/' }

for (const [name, pathname] of Object.entries(looked)) {
  for (const width of widths) {
    test(`${name} fits ${width} px`, () => open(pathname, { width }, async (page) => {
      await page.screenshot({ path: `${screenshots}${name}-${width}.png` })
      assert.deepEqual(await overflow(page), [])
    }))
  }
  test(`${name} is dark where the system is`, () => open(pathname, { scheme: 'dark' }, async (page) => {
    await page.screenshot({ path: `${screenshots}${name}-dark.png` })
    assert.ok(await page.$('html.dark'))
  }))
}

test('every page fits a phone', async () => {
  const page = await browser.newPage()
  await page.setJavaScriptEnabled(false)
  await page.setViewport({ width: 390, height: 800 })
  const wide = []
  for (const name of files('.html')) {
    await page.goto(origin + base + name)
    const elements = await overflow(page)
    if (elements.length > 0) {
      wide.push([name, ...elements])
    }
  }
  assert.deepEqual(wide, [])
})

test('the landing page is one screen', () => open('', {}, async (page) => {
  await page.screenshot({ path: `${screenshots}landing-1280.png` })
  assert.ok(await page.evaluate(() => document.documentElement.scrollHeight) <= 800)
  const clipped = await page.$$eval('.landing pre', (boxes) => boxes
    .filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.textContent))
  assert.deepEqual(clipped, [])
}))

test('long tables are lists', () => open('docs/language.html', { width: 390 }, async (page) => {
  const list = await page.$('dl.definitions')
  await list.scrollIntoView()
  await page.screenshot({ path: `${screenshots}definitions-390.png` })
  assert.deepEqual(await page.$$eval('td', (cells) => cells.map((cell) => cell.textContent.length)
    .filter((length) => length > 120)), [])
}))

test('diagrams are drawn', () => open('docs/concepts.html', {}, async (page) => {
  await page.waitForFunction(() => !document.querySelector('pre.diagram'))
  const diagrams = await page.$$('.diagram svg')
  assert.ok(diagrams.length > 0)
  await diagrams[0].screenshot({ path: `${screenshots}diagram.png` })
}))

for (const scheme of ['light', 'dark']) {
  test(`the playground finds a mistake, in ${scheme}`, () => open('playground/', { scheme }, async (page) => {
    const inside = (look) => page.waitForFunction((text) => {
      const root = document.getElementById('playground')?.shadowRoot
      return root && [...root.querySelectorAll('.problems li')].some((item) => item.textContent.includes(text))
    }, { timeout: 60_000 }, look)
    await page.waitForSelector('#playground >>> .cm-content')
    await page.select('#playground >>> .examples', '7')
    await inside('did you mean max_attempts?')
    await page.screenshot({ path: `${screenshots}playground-${scheme}.png`, fullPage: true })
    await page.click('.VPNavBarTitle a') // the worker ends with the page
    await page.waitForSelector('.landing')
  }))
}

test('search finds breaker', () => open('', {}, async (page) => {
  await page.keyboard.press('/')
  await page.waitForSelector('.VPLocalSearchBox input')
  await page.type('.VPLocalSearchBox input', 'breaker')
  await page.waitForSelector('.VPLocalSearchBox .result')
  await page.screenshot({ path: `${screenshots}search.png` })
  const found = await page.$$eval('.VPLocalSearchBox .result', (results) => results.map((result) => result.textContent))
  assert.ok(found.some((result) => result.includes('Circuit breakers')), found.join('\n'))
}))

test('a page that does not exist is reported', async () => {
  const page = await browser.newPage()
  const response = await page.goto(origin + base + 'docs/none.html')
  assert.equal(response.status(), 404)
  await page.waitForSelector('.NotFound')
  await page.close()
})
