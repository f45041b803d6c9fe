import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { beforeAll, describe, expect, onTestFinished } from 'vitest'
import { createWebPage } from '../../src/web/index.ts'
import { startServer, type TestServer, token } from '../server/server-kit.ts'
import { findProgram, installCommand } from '../system-programs.ts'

const program = findProgram('chromium')

/**
 * Takes the place of the list that Playwright gives. The first two load two pages of the address field for each window, which
 * is half the processor time of a tab; with the others Chromium calls hosts of its maker, or shows pages later.
 */
const disabledFeatures = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'OptimizationHints', 'NetworkTimeServiceQuerying', 'AimEnabled'],
  ...['PreconnectToSearch', 'MediaRouter', 'HttpsUpgrades', 'PaintHolding'],
]

/** Without these Chromium calls hosts of its maker, and needs rights that root does not have. */
const args = [
  `--disable-features=${disabledFeatures.join()}`,
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--js-flags=--expose-gc', '--enable-precise-memory-info'],
]

let launched: Promise<Browser> | undefined

/**
 * Tests in a real Chromium, one for all files of a worker; it ends with the worker, whose end of the pipe it reads. Where
 * there is none they are skipped, and say how to install it.
 */
export function inBrowser(name: string, tests: (browser: () => Browser) => void): void {
  if (!program) console.warn(`Skipped: ${name}. There is no Chromium: ${installCommand('chromium')}`)
  describe.skipIf(!program)(name, () => {
    let browser: Browser
    beforeAll(async () => {
      launched ??= chromium.launch({ executablePath: program!, args })
      browser = await launched
    })
    tests(() => browser)
  })
}

export interface ServedPage extends TestServer {
  readonly url: string
  /** The address that logs in. */
  readonly link: string
  /** Answers no more, as a server that was killed. `listen` starts it again at the same address. */
  cut(): Promise<void>
  listen(): Promise<void>
}

/** The page and its server on a port of this machine, until the test is over. Its agents speak a script. */
export async function servePage(
  options: Parameters<typeof startServer>[0] & { basePath?: string; renderers?: string } = {},
): Promise<ServedPage> {
  const { renderers, ...ofServer } = options
  const started = await startServer(ofServer)
  const { basePath = '' } = options
  const page = createWebPage({ server: started.server, basePath, ...(renderers && { renderers }) })
  let port = 0
  let http: ReturnType<typeof serve> | undefined
  const listen = (): Promise<void> =>
    new Promise((resolve) => {
      http = serve({ overrideGlobalObjects: false, fetch: page.fetch, hostname: '127.0.0.1', port }, () => {
        port = (http!.address() as AddressInfo).port
        resolve()
      })
    })
  const cut = async (): Promise<void> => {
    const closing = http
    http = undefined
    if (!closing) return
    if ('closeAllConnections' in closing) closing.closeAllConnections()
    await new Promise((resolve) => closing.close(resolve))
  }
  await listen()
  onTestFinished(cut)
  const url = `http://127.0.0.1:${port}${basePath}`
  return { ...started, url, link: `${url}/#token=${token}`, cut, listen }
}

export interface OpenedPage extends Page {
  /** What the browser reported: errors of scripts, and what the policy of the page refused. */
  readonly problems: string[]
}

/** A tab of a browser of its own, until the test is over. At the end the page must have reported no problem. */
export async function openTab(
  browser: Browser,
  address: string,
  { mayReport, ...options }: BrowserContextOptions & { readonly mayReport?: RegExp } = {},
): Promise<OpenedPage> {
  // Without a graphics card each frame of a movement is drawn by the processor.
  const usual = { viewport: { width: 1200, height: 800 }, reducedMotion: 'reduce' } as const
  const context = await browser.newContext({ ...usual, ...options })
  const problems: string[] = []
  await context.exposeBinding('reportViolation', (_, text: string) => void problems.push(`policy: ${text}`))
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
      (globalThis as unknown as { reportViolation(text: string): void }).reportViolation(
        `${violatedDirective} ${blockedURI} ${sample}`,
      ),
    )
  })
  const page = await context.newPage()
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  page.setDefaultTimeout(20_000)
  onTestFinished(async () => {
    await context.close()
    expect(problems.filter((text) => !mayReport?.test(text))).toEqual([])
  })
  await page.goto(address)
  return Object.assign(page, { problems })
}
