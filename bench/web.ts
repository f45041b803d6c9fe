import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { type Browser, chromium, type Page } from 'playwright-core'
import { buildPage } from '../scripts/build-page.ts'
import { createAgent, createMemoryStore, type SessionStore } from '../src/index.ts'
import { createServer } from '../src/server/index.ts'
import { scripted } from '../src/testing/index.ts'
import { createWebPage } from '../src/web/index.ts'
import { writeLongSession } from '../test/long-session.ts'
import { findProgram, installCommand } from '../test/system-programs.ts'
import { atMost, median, type Result } from './measure.ts'

const token = 'a-token-of-at-least-32-characters-0'
const turns = 10_000
const deltas = 1000
const deltasPerSecond = 200

/** What functions that run in the page use of it. The types of a browser are not those of this program. */
interface PageElement {
  scrollTop: number
  readonly scrollHeight: number
  readonly clientHeight: number
  getAttribute(name: string): string | null
  querySelectorAll(selector: string): Iterable<PageElement>
}
declare const document: { querySelector(selector: string): PageElement | null }
declare const requestAnimationFrame: (callback: () => void) => void

/** How much the page loads, and how fast it is in a real Chromium: at its start, in a long session, while an answer streams. */
export async function web(): Promise<Result[]> {
  const sizes = await sizesOfFiles()
  const executablePath = findProgram('chromium')
  if (!executablePath) {
    console.log(`     not measured without Chromium: ${installCommand('chromium')}`)
    return sizes
  }
  const store = createMemoryStore()
  await writeLongSession(store, 'long', { turns, size: 600 })
  await writeLongSession(store, 'short', { turns: 20, size: 600 })
  const served = await serveAt(store)
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--enable-precise-memory-info']
  const browser = await chromium.launch({ executablePath, args: [...args, '--js-flags=--expose-gc'] })
  try {
    return [
      ...sizes,
      ...(await loads(browser, served.url)),
      ...(await starts(browser, served.url)),
      ...(await longSession(browser, served.url)),
    ]
  } finally {
    await browser.close()
    await served.close()
  }
}

/** All files together, as they are in the package, and what a replay file has beside its session. */
async function sizesOfFiles(): Promise<Result[]> {
  const { files } = await buildPage()
  const kb = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / 1024
  return [
    atMost('all files, KB', kb(Object.values(files)), 600),
    atMost('script and style of a replay file, KB', kb([files['/replay.js']!, files['/replay.css']!]), 150),
  ]
}

/** What a browser without a cache loads for the list of sessions, and for a conversation that is opened by its link. */
async function loads(browser: Browser, url: string): Promise<Result[]> {
  const list = await loaded(browser, `${url}/#token=${token}`, 'Sessions')
  const conversation = await loaded(browser, `${url}/s/short#token=${token}`, '0 word')
  return [
    atMost('JavaScript of the first load, KB with gzip', list.js, 60),
    atMost('styles of the first load, KB with gzip', list.css, 12),
    atMost('JavaScript of a conversation by its link, KB with gzip', conversation.js, 60),
    atMost('styles of a conversation by its link, KB with gzip', conversation.css, 12),
  ]
}

async function loaded(browser: Browser, address: string, heading: string): Promise<{ js: number; css: number }> {
  const page = await newPage(browser, address)
  await page.getByRole('heading', { name: heading }).first().waitFor()
  await page.waitForTimeout(1500) // what comes a little later counts too
  const files = await page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .map((file) => ({ name: file.name, kb: (file as { encodedBodySize?: number }).encodedBodySize! / 1024 })),
  )
  await page.context().close()
  const kb = (end: string): number =>
    files.filter(({ name }) => name.endsWith(end)).reduce((sum, file) => sum + file.kb, 0)
  return { js: kb('.js'), css: kb('.css') }
}

async function starts(browser: Browser, url: string): Promise<Result[]> {
  const paints: number[] = []
  for (let i = 0; i < 7; i++) {
    const page = await newPage(browser, `${url}/#token=${token}`)
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]!.startTime))
    await page.context().close()
  }
  return [atMost('first paint, ms', median(paints), 200)]
}

async function longSession(browser: Browser, url: string): Promise<Result[]> {
  const opens: number[] = []
  let page!: Page
  for (let i = 0; i < 5; i++) {
    await page?.context().close()
    page = await newPage(browser, `${url}/#token=${token}`)
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.goto(`${url}/s/long`)
    await page
      .getByRole('feed')
      .getByText(`${turns - 1} word`)
      .first()
      .waitFor()
    opens.push(await page.evaluate(() => performance.now()))
  }
  await page.waitForTimeout(3000) // all entries are read and folded
  const gaps = await scrollGaps(page)
  const streamed = await streaming(page)
  const heap = await page.evaluate(() => {
    ;(globalThis as unknown as { gc(): void }).gc()
    return (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize / 2 ** 20
  })
  return [
    atMost(`a session of ${turns} turns is open, ms`, median(opens), 300),
    atMost('frame gap while scrolling, p95, ms', gaps, 25),
    atMost(`longest task at ${deltasPerSecond} deltas a second, ms`, streamed.longestMs, 50),
    atMost('main thread per delta, ms', streamed.perDeltaMs, 1000 / deltasPerSecond),
    atMost('heap, MB', heap, 60),
  ]
}

/** 300 frames, 700 px each: upwards through the conversation. */
const scrollGaps = (page: Page): Promise<number> =>
  page.evaluate(async () => {
    const log = document.querySelector('[role=feed]')!
    const scroller = [log, ...log.querySelectorAll('*')].find(
      ({ scrollHeight, clientHeight }) => scrollHeight > clientHeight * 2,
    )!
    const gaps: number[] = []
    let last = performance.now()
    for (let i = 0; i < 300; i++) {
      scroller.scrollTop -= 700
      await new Promise<void>((resolve) => requestAnimationFrame(resolve))
      const now = performance.now()
      gaps.push(now - last)
      last = now
    }
    scroller.scrollTop = scroller.scrollHeight
    return gaps.sort((a, b) => a - b)[Math.floor(gaps.length * 0.95)]!
  })

async function streaming(page: Page): Promise<{ longestMs: number; perDeltaMs: number }> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Performance.enable')
  const busySeconds = async (): Promise<number> =>
    (await devtools.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration')!.value
  await page.evaluate(() => {
    const tasks: number[] = []
    Object.assign(globalThis, { tasks })
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({
      type: 'longtask' as 'measure', // a kind that Node does not have
    })
  })
  const before = await busySeconds()
  await page.evaluate(() =>
    fetch('/v1/sessions/long/messages', {
      ...{ method: 'POST', body: JSON.stringify({ content: 'Go on' }) },
      headers: { 'content-type': 'application/json', 'x-libero': '1', 'idempotency-key': 'go' },
    }),
  )
  await page.getByRole('feed').getByText('That was all.').waitFor({ timeout: 60_000 })
  const busy = (await busySeconds()) - before
  const tasks = await page.evaluate(() => (globalThis as unknown as { tasks: number[] }).tasks)
  return { longestMs: Math.max(0, ...tasks), perDeltaMs: (busy * 1000) / deltas }
}

async function newPage(browser: Browser, address: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 } })
  const page = await context.newPage()
  await page.goto(address)
  return page
}

/** The page and a server whose model streams a long answer. */
async function serveAt(store: SessionStore): Promise<{ readonly url: string; close(): Promise<void> }> {
  const words = Array.from({ length: deltas - 10 }, (_, i) => (i % 40 === 39 ? 'end.\n\n' : `word${i} `)).join('')
  const server = createServer({
    store,
    auth: { token },
    async agentFor({ session }) {
      const provider = scripted(`${words}\n\nThat was all.`)
      const stream: typeof provider.stream = async function* (request, signal) {
        const begun = performance.now()
        let sent = 0
        for await (const event of provider.stream(request, signal)) {
          const dueMs = begun + (++sent * 1000) / deltasPerSecond - performance.now()
          if (dueMs > 0) await new Promise((resolve) => setTimeout(resolve, dueMs))
          yield event
        }
      }
      const agent = createAgent({ provider: { ...provider, stream }, session })
      return { agent, close: () => agent.destroy() }
    },
  })
  const page = createWebPage({ server })
  const http = await new Promise<ReturnType<typeof serve>>((resolve) => {
    const made = serve({ overrideGlobalObjects: false, fetch: page.fetch, hostname: '127.0.0.1', port: 0 }, () =>
      resolve(made),
    )
  })
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    async close() {
      if ('closeAllConnections' in http) http.closeAllConnections()
      http.close()
      await server.close()
    },
  }
}
