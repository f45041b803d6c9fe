import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MockService, startMockService } from '../rpc/mock-service.ts'
import { rounds } from '../soak.ts'
import { inBrowser, openTab } from './browser-kit.ts'
import { furnish } from './furnished.ts'
import { screenPaths, untilShown } from './screens.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())

interface Finding {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

const looks = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
} as const

const first = Math.floor(Math.random() * 3)

/** With `LIBERO_SCREENSHOTS=1` the pictures of the documentation are made anew. */
const pictures = process.env.LIBERO_SCREENSHOTS
  ? fileURLToPath(new URL('../../docs/screens/web', import.meta.url))
  : undefined

inBrowser('accessibility', (browser) => {
  test('WB128 axe finds nothing on any screen, in light and dark and on a phone', { timeout: 120_000 }, async () => {
    const { url, link } = await furnish(service)
    const findings: string[] = []
    for (const [i, [look, options]] of Object.entries(looks).entries()) {
      const page = await openTab(browser(), link, options)
      await untilShown(page)
      for (const path of pictures === undefined ? screensInTurn(i) : screenPaths) {
        await page.goto(url + path)
        await untilShown(page)
        if (pictures !== undefined) {
          await page.waitForTimeout(800) // approvals can be answered
          await page.screenshot({ path: `${pictures}/${nameOf(path)}-${look}.png` })
        }
        await page.evaluate(axe)
        const { violations } = await page.evaluate(() =>
          (globalThis as unknown as { axe: { run(): Promise<{ violations: Finding[] }> } }).axe.run(),
        )
        for (const { id, help, nodes } of violations)
          findings.push(
            `${look} ${path} ${id}: ${help}`,
            ...nodes.slice(0, 3).map(({ html, failureSummary }) => `  ${html}\n    ${failureSummary}`),
          )
      }
    }
    expect(findings.join('\n')).toBe('')
  })
})

/** Every screen in one of the looks, in another one each time; in `npm run soak` in all of them. */
function screensInTurn(look: number): readonly string[] {
  return screenPaths.filter((_, i) => rounds((i + first) % 3, look) === look)
}

const nameOf = (path: string): string => path.replace('/s/', '').replaceAll('/', '-').replace(/^-/, '') || 'sessions'
