import { expect, test } from 'vitest'
import { createMemoryStore } from '../../src/index.ts'
import { call, type Step, scripted } from '../../src/testing/index.ts'
import { tool, until } from '../server/server-kit.ts'
import { inBrowser, type OpenedPage, openTab, servePage } from './browser-kit.ts'
import { hostileTexts } from './hostile-texts.ts'

/** Three screens at once: what is scrolled through is drawn in a third of the steps. */
const tall = { width: 1200, height: 2400 }

const screens = ['', 'new', 'waiting', 'agents', 'schedules', 'usage', 'rules', 'tools', 'settings']

inBrowser('hostile content', (browser) => {
  test('WB127 of 260 hostile texts none runs, loads anything or needs the policy, wherever it comes from', async () => {
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
})

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

/** Scrolls through the whole conversation, opens what is folded, and points at it. */
async function readThrough(page: OpenedPage): Promise<void> {
  const log = page.getByRole('feed')
  await log.waitFor()
  for (let i = 0; i < 20; i++) {
    await page.evaluate(() => {
      for (const folded of document.querySelectorAll<HTMLElement>('[role=feed] [aria-expanded=false]')) folded.click()
      for (const element of document.querySelectorAll('[role=feed] *'))
        element.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))
    })
    await log.hover()
    await page.mouse.wheel(0, -2700)
    await page.waitForTimeout(20)
  }
}
