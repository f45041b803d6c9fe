import { expect, onTestFinished, test } from 'vitest'
import { createMemoryStore } from '../../src/index.ts'
import { createWikitextRenderer } from '../../src/plugins/index.ts'
import { call, type Step, scripted } from '../../src/testing/index.ts'
import { tool, until } from '../server/server-kit.ts'
import { sampleOf } from '../soak.ts'
import { inBrowser, type OpenedPage, openTab, servePage } from './browser-kit.ts'
import { hostileTexts } from './hostile-texts.ts'
import { ended, text, turn, writeSession } from './session-kit.ts'

/** Three screens at once: what is scrolled through is drawn in a third of the steps. */
const tall = { width: 1200, height: 2400 }

const screens = ['', 'new', 'waiting', 'agents', 'schedules', 'usage', 'rules', 'tools', 'settings']

inBrowser('hostile content', (browser) => {
  test('WB127 of 260 hostile texts none runs, loads anything or needs the policy, wherever it comes from', {
    timeout: 120_000,
  }, async () => {
    expect(hostileTexts.length).toBeGreaterThan(250)
    const { link, url, send } = await served()
    // Some of what the screens ask for, this server does not offer.
    const page = await openTab(browser(), link, { viewport: tall, mayReport: /status of (404|501)/ })
    const outside = await watch(page)
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    for (const path of screens) await visit(page, `${url}/${path}`)
    await visit(page, `${url}/s/hostile`)
    await readThrough(page)
    for (const part of ['log', 'files']) await visit(page, `${url}/s/hostile/${part}`)
    // As names of files too, and as what was changed in them.
    const files = page.locator('.file-review')
    await files.first().locator('.diff-line').first().waitFor()
    expect(await files.count()).toBeGreaterThan(200)
    await visit(page, `${url}/s/waiting`)
    expect(await page.evaluate(() => (globalThis as unknown as { hits: string[] }).hits)).toEqual([])
    expect(outside).toEqual([])
    expect((await send('GET', '/v1/sessions/hostile')).status).toBe(200)
  })

  test('WB134 nor does any of them as wikitext', async () => {
    const wiki = createWikitextRenderer()
    onTestFinished(() => wiki.close())
    let [asked, rendered, refused] = [0, 0, 0]
    const wikitext = async (source: string) => {
      const nodes = await wiki.render(source).catch((error: unknown) => {
        refused++
        throw error
      })
      rendered++
      return nodes
    }
    const served = await servePage({ about: { wikitext } })
    const all = sampleOf([...wikiTexts, ...hostileTexts], 70)
    const calls = all.map((source, i) => ({ id: `c${i}`, source }))
    await writeSession(served.store, 's', [
      turn('u1', 'user', text('Read the pages')),
      turn('a1', 'assistant', ...calls.map(({ id }) => call(id, 'wiki', {}))),
      ...calls.map(({ id, source }) => ended(id, source, { details: { contentType: 'text/vnd.tiddlywiki' } })),
    ])
    // TiddlyWiki refuses some; they are shown as text.
    const page = await openTab(browser(), served.link, { viewport: tall, mayReport: /status of 422/ })
    page.on('request', (request) => {
      if (request.url().endsWith('/wikitext')) asked++
    })
    const outside = await watch(page)
    await visit(page, `${served.url}/s/s`)
    const drawn = new Set<string>()
    // What is rendered becomes smaller, and moves the rest.
    await readThrough(page, 0.5, async () => {
      await expect.poll(() => asked === rendered + refused).toBe(true)
      await frame(page)
      const rows = page.getByRole('feed').locator('[aria-posinset]:has(.markdown)')
      for (const row of await rows.evaluateAll((all) => all.map((one) => one.getAttribute('aria-posinset')!)))
        drawn.add(row)
    })
    expect(drawn.size).toBeGreaterThan(all.length * 0.9)
    expect(await page.evaluate(() => (globalThis as unknown as { hits: string[] }).hits)).toEqual([])
    expect(outside).toEqual([])
  })
})

const wikiTexts = [
  '[[x|javascript:hit()]] [ext[x|javascript:hit()]] [img[https://evil.test/x.png]] [img width={{https://evil.test}} [x]]',
  '<$button><$action-navigate $to="https://evil.test"/>x</$button> <$link to="javascript:hit()" tooltip=<<hit>>>x</$link>',
  '<$element type="script">hit()</$element> <$element tag="iframe" src="https://evil.test"/> <$image source="https://evil.test/x.png"/>',
  '<$genesis $type="script">hit()</$genesis> <$genesis $type="img" src="x" onerror="hit()"/>',
  '\\define evil() <script>hit()</script>\n<<evil>> <$macrocall $name="evil"/> <$wikify name="a" text="<script>hit()</script>"><<a>></$wikify>',
  '@@background:url(https://evil.test/x.png);.x text@@ {{$:/core/save/all}} {{{ [all[]] }}} <$reveal type="popup" state="$:/x">x</$reveal>',
  '```<script>hit()</script>``` $$$text/html\n<img src=x onerror=hit()>\n$$$ $$$.svg\n<svg onload=hit()>\n$$$',
]

/** A server on which every text that a page can show is hostile. */
async function served() {
  const some = (from: number, count = 10): string => hostileTexts.slice(from, from + count).join('\n\n')
  const texts = Array.from({ length: Math.ceil(hostileTexts.length / 10) }, (_, i) => some(i * 10))
  const calls = hostileTexts.map((text, i) => call(`c${i}`, 'look', { path: text, command: text, [`k${i}`]: [text] }))
  const results = new Map(hostileTexts.map((text, i) => [`c${i}`, text]))
  const steps: Step[] = [
    calls,
    ...texts.map((text, i) => ({ thinking: text, text, calls: [call(`d${i}`, 'look', { text })] })),
    texts[0]!,
  ]
  const look = tool('look', {
    execute: async (_, { callId }) => {
      const text = results.get(callId)
      return text === undefined ? some(0) : { output: text, details: { diff: diffOf(text) } }
    },
  })
  const publish = tool('publish', { gated: true })
  const list = hostileTexts.map((text, i) => ({
    ...{ name: text, id: text, description: text, title: text, path: text, model: text, provider: text },
    ...{
      state: text,
      status: text,
      error: text,
      origin: text,
      from: text,
      version: i,
      tools: [{ name: text, description: text }],
    },
  }))
  const values = Object.fromEntries(hostileTexts.map((text) => [text, { value: text, from: text }]))
  const store = createMemoryStore()
  let isFirst = true
  const started = await servePage({
    store,
    tools: { look, publish },
    provider: () => {
      const provider = isFirst
        ? scripted(...steps)
        : scripted([call('p1', 'publish', { version: some(20), plan: some(40) })])
      isFirst = false
      return provider
    },
    about: {
      models: async () => list,
      tools: async () => list,
      mcp: async () => list,
      skills: async () => list,
      settings: async () => ({ settings: values, warnings: hostileTexts }),
      explain: async () => ({ why: some(0), rule: some(10) }),
      audit: async () => ({ records: list }),
    },
  })
  const { send } = started
  const details = { title: hostileTexts[0], tags: hostileTexts.slice(0, 5), folder: `/tmp/${hostileTexts[1]}` }
  await send('POST', '/v1/sessions', { id: 'hostile', ...details, message: some(0, 100) })
  await until(async () => {
    const { status, calls } = (await send('GET', '/v1/sessions/hostile')).body
    return status === 'idle' && calls > hostileTexts.length
  })
  await send('POST', '/v1/sessions', { id: 'waiting', title: hostileTexts[5], message: some(100, 50) })
  await until(async () => (await send('GET', '/v1/pending')).body.pending.length === 1)
  for (const [i, title] of hostileTexts.slice(0, 40).entries())
    await send('POST', '/v1/sessions', { id: `s${i}`, title })
  return started
}

/** A change of a file whose name and lines are this text. */
const diffOf = (text: string): string => {
  const line = text.replace(/[\t\r\n]+/g, ' ')
  return `--- ${line}\n+++ ${line}\n@@ -1,1 +1,1 @@\n-${line}\n+${line} ${line}`
}

/** Notes what runs, and each request that leaves the server of the page. */
async function watch(page: OpenedPage): Promise<string[]> {
  const outside: string[] = []
  page.on('request', (request) => {
    if (new URL(request.url()).hostname !== '127.0.0.1' && !/^(blob|data):/.test(request.url()))
      outside.push(request.url())
  })
  page.on('dialog', (dialog) => outside.push(`dialog ${dialog.message()}`))
  page.on('popup', (popup) => outside.push(`popup ${popup.url()}`))
  await page.addInitScript(() => {
    const hits: string[] = []
    const note = (): void => void hits.push(location.href)
    Object.assign(globalThis, { hits, hit: note, alert: note, open: note })
  })
  await page.reload()
  return outside
}

async function visit(page: OpenedPage, address: string): Promise<void> {
  await page.goto(address)
  await page.getByRole('main').getByRole('heading').or(page.getByRole('feed')).first().waitFor()
  await page.waitForTimeout(150) // what it reads of the server is there, and drawn
  expect(await page.evaluate(() => (globalThis as unknown as { hits: string[] }).hits)).toEqual([])
}

/** Scrolls through the whole conversation and opens what is folded; then, with all of it open, points at everything. */
async function readThrough(page: OpenedPage, step = 1, whenDrawn = async (): Promise<void> => {}): Promise<void> {
  const log = page.getByRole('feed')
  await log.waitFor()
  for (const isOpen of [false, true]) {
    await log.evaluate((view) => view.scrollTo({ top: view.scrollHeight }))
    for (let isRead = false; !isRead; ) {
      await frame(page)
      if (isOpen) await whenDrawn()
      isRead = await log.evaluate((view, step) => {
        const folded = view.querySelectorAll<HTMLElement>('[aria-expanded=false]')
        for (const one of folded) one.click()
        for (const element of view.querySelectorAll('*'))
          element.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))
        const isTop = view.scrollTop === 0 && folded.length === 0
        view.scrollBy({ top: -view.clientHeight * step })
        return isTop
      }, step)
    }
  }
}

const frame = (page: OpenedPage): Promise<void> =>
  page.evaluate(() => new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve, 10))))
