import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MockService, startMockService } from '../rpc/mock-service.ts'
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

inBrowser('accessibility', (browser) => {
  test('WB128 axe finds nothing on any screen, in light and dark', async () => {
    const { url, link } = await furnish(service)
    const findings: string[] = []
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await openTab(browser(), link, { colorScheme })
      await untilShown(page)
      for (const path of screenPaths) {
        await page.goto(url + path)
        await untilShown(page)
        await page.evaluate(axe)
        const { violations } = await page.evaluate(() =>
          (globalThis as unknown as { axe: { run(): Promise<{ violations: Finding[] }> } }).axe.run(),
        )
        for (const { id, help, nodes } of violations)
          findings.push(
            `${colorScheme} ${path} ${id}: ${help}\n  ${nodes
              .map(({ html, failureSummary }) => `${html}\n    ${failureSummary}`)
              .slice(0, 3)
              .join('\n  ')}`,
          )
      }
    }
    expect(findings.join('\n')).toBe('')
  })
})
