import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MockService, startMockService } from '../rpc/mock-service.ts'
import { rounds } from '../soak.ts'
import { inBrowser, type OpenedPage, openTab } from './browser-kit.ts'
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
        findings.push(...(await findingsOn(page, `${look} ${path}`)))
      }
    }
    expect(findings.join('\n')).toBe('')
  })

  test('WB128 axe finds nothing on the login, an agent, the palette, the list of keys and dialogs', async () => {
    const { url, link, send } = await furnish(service)
    const [definition] = (await send('/v1/definitions')).body.definitions
    await send('/v1/agents', { definition: definition.id, id: 'agent-ann', name: 'Ann' })
    const findings: string[] = []
    const [look, options] = Object.entries(looks)[first]!
    const login = await openTab(browser(), url, { ...options, mayReport: /401/ })
    await login.getByLabel('Token').waitFor()
    findings.push(...(await findingsOn(login, `${look} login`)))
    const page = await openTab(browser(), link, options)
    await untilShown(page)
    await page.goto(`${url}/agents/agent-ann`)
    await page.getByRole('heading', { name: 'Ann' }).waitFor()
    findings.push(...(await findingsOn(page, `${look} agent`)))
    await page.goto(`${url}/s/review`)
    await untilShown(page)
    const dialog = page.getByRole('dialog')
    const overlays: Readonly<Record<string, () => Promise<void>>> = {
      palette: () => page.keyboard.press('Control+k'),
      keys: () => page.locator('main').press('?'),
      delete: () => choose('More', 'Delete …'),
      label: () => choose('More', 'Label this point …'),
      rollback: async () => {
        await page.getByRole('feed').evaluate((view) => view.scrollTo({ top: 0 }))
        await page.locator('.message p').click() // on a phone that shows what can be done with it
        await choose('More about this', /^Roll back/)
      },
    }
    const choose = async (menu: string, item: string | RegExp): Promise<void> => {
      await page.getByRole('button', { name: menu, exact: true }).first().click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    for (const [name, open] of Object.entries(overlays)) {
      await open()
      await dialog.waitFor()
      await page.waitForFunction(() => document.querySelector('.skeleton') === null)
      findings.push(...(await findingsOn(page, `${look} ${name}`)))
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
    expect(findings.join('\n')).toBe('')
  })
})

async function findingsOn(page: OpenedPage, where: string): Promise<string[]> {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run(): Promise<{ violations: Finding[] }> } }).axe.run(),
  )
  return violations.flatMap(({ id, help, nodes }) => [
    `${where} ${id}: ${help}`,
    ...nodes.slice(0, 3).map(({ html, failureSummary }) => `  ${html}\n    ${failureSummary}`),
  ])
}

/** Every screen in one of the looks, in another one each time; in `npm run soak` in all of them. */
function screensInTurn(look: number): readonly string[] {
  return screenPaths.filter((_, i) => rounds((i + first) % 3, look) === look)
}

const nameOf = (path: string): string => path.replace('/s/', '').replaceAll('/', '-').replace(/^-/, '') || 'sessions'
