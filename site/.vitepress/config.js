import { defineConfig } from 'vitepress'
import { asOnGitHub, diagrams, longTables, ownPictures, repositoryLinks, slugify } from './markdown.js'
import { excluded, rewrites, root, sidebars, sitePath } from './pages.js'
import { versionMenu } from './versions.js'

const github = 'https://github.com/retrygen/retrygen'

// publish.sh sets these for each version.
const base = process.env.SITE_BASE ?? '/'
const ref = process.env.SITE_REF ?? 'main'
const url = process.env.SITE_URL ?? 'https://retrygen.github.io/retrygen'
const changelog = process.env.SITE_CHANGELOG

// Node finds no packages above this folder, where the pages are. They get the Vue of all others.
const vueOfPages = {
  name: 'vue-of-pages',
  enforce: 'pre',
  resolveId(id, importer, { ssr }) {
    return ssr && /^vue(\/server-renderer)?$/.test(id) ? { id, external: true } : null
  },
}

export default defineConfig({
  title: 'retrygen',
  description: 'Resilience policies as code, for Go',
  base,
  head: [['link', { rel: 'icon', href: base + 'icon.svg', type: 'image/svg+xml' }]],

  // The pages are in the repository, which is the folder above this one.
  srcDir: '..',
  srcExclude: excluded,
  rewrites,
  // Pages that are rendered at the same time would be in the search index in any order.
  buildConcurrency: 1,
  vite: {
    publicDir: root + 'site/public',
    plugins: [vueOfPages],
    build: { chunkSizeWarningLimit: 1000 },
  },

  markdown: {
    html: false,
    attrs: { disable: true },
    anchor: { slugify },
    languageAlias: { haproxy: 'ini' },
    config(md) {
      md.use(asOnGitHub).use(repositoryLinks, { github, ref }).use(ownPictures).use(longTables).use(diagrams)
    },
  },

  themeConfig: {
    logo: '/icon.svg',
    nav: [
      { text: 'Get started', link: sitePath('docs/getting-started.md') },
      { text: 'Documentation', link: sitePath('docs/README.md') },
      { text: 'Language', link: sitePath('docs/language.md') },
      { text: 'Playground', link: '/playground/' },
      { text: 'Rules', link: sitePath('docs/rules/README.md'), activeMatch: '/docs/rules/' },
      versionMenu({ url, changelog }),
    ],
    sidebar: sidebars(),
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        // The index has no use for the colors of code, which take longer than all else. VitePress
        // renders the pages with the same md.
        _render(text, env, md) {
          const { highlight } = md.options
          md.set({ highlight: null })
          const html = md.render(text, env)
          md.set({ highlight })
          return html
        },
      },
    },
    socialLinks: [{ icon: 'github', link: github, ariaLabel: 'retrygen on GitHub' }],
    editLink: { pattern: `${github}/edit/main/:path`, text: 'Edit this page on GitHub' },
    notFound: {
      title: 'Page not found',
      quote: 'There is no page at this address. The search may find it.',
      linkText: 'Start page',
    },
  },
})
