import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { rounds, testInTurns } from '../soak.ts'
import { inBrowser, type OpenedPage, openTab } from './browser-kit.ts'
import { screenPaths, untilShown } from './screens.ts'
import { sharedHost } from './shared-host.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The colour that Chromium says letters are filled with is that of the page, also where the system's takes its place. */
const axeForSystemColours = axe.replaceAll('-webkit-text-fill-color', 'color')

const test = testInTurns(2)

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
  const shared = sharedHost()

  test('WB128 axe finds nothing on any screen, in light and dark and on a phone', { timeout: 120_000 }, async () => {
    const { url, link } = shared().host
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

  test('WB128 at 320 pixels, which a zoom of 400 % leaves, no control is cut off and no screen scrolls sideways', async () => {
    const { url, link } = shared().host
    const page = await openTab(browser(), link, { viewport: { width: 320, height: 640 } })
    await untilShown(page)
    const cut: string[] = []
    for (const path of screensInTurn(0)) {
      await page.goto(url + path)
      await untilShown(page)
      for (const one of await cutOff(page)) cut.push(`${path}: ${one}`)
    }
    expect(cut).toEqual([])
  })

  test('WB128 in the forced colours of the system axe finds nothing, and the focus is seen', async () => {
    const { url, link } = shared().host
    const page = await openTab(browser(), link, { forcedColors: 'active', contrast: 'more', colorScheme: 'dark' })
    await untilShown(page)
    const findings: string[] = []
    for (const path of screensInTurn(1)) {
      await page.goto(url + path)
      await untilShown(page)
      findings.push(...(await findingsOn(page, `forced colours ${path}`, axeForSystemColours)))
      findings.push(...(await unseenChoices(page)).map((one) => `forced colours ${path}: not seen as chosen: ${one}`))
      for (let i = 0; i < 5; i++) {
        await page.keyboard.press('Tab')
        const unseen = await page.evaluate(() => {
          const focused = document.activeElement
          if (!focused || focused === document.body) return undefined
          const { outlineStyle, outlineWidth } = getComputedStyle(focused)
          return outlineStyle === 'none' || outlineWidth === '0px' ? focused.outerHTML.slice(0, 120) : undefined
        })
        if (unseen !== undefined) findings.push(`forced colours ${path}: the focus is not seen on ${unseen}`)
      }
    }
    expect(findings).toEqual([])
  })

  test('WB128 axe finds nothing on the login, an agent, the palette, the list of keys and dialogs', async () => {
    const { url, link, send } = shared().host
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

/** Controls and headings beyond the edge of the window, but for those in a part that scrolls by itself; and a page that scrolls. */
function cutOff(page: OpenedPage): Promise<string[]> {
  return page.evaluate(() => {
    const scrollsItself = (element: Element | null): boolean =>
      element !== null &&
      element !== document.documentElement &&
      (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrollsItself(element.parentElement))
    const controls = [...document.querySelectorAll('button, a:not(.skip-link), input, select, textarea, h1, h2')]
    const beyond = controls.filter((one) => {
      const { left, right, width, height } = one.getBoundingClientRect()
      const isShown = width > 1 && height > 1 && one.checkVisibility({ visibilityProperty: true })
      return isShown && (right > innerWidth + 1 || left < -1) && !scrollsItself(one.parentElement)
    })
    const { scrollWidth } = document.documentElement
    const wide = scrollWidth > innerWidth ? [`the page is ${scrollWidth} pixels wide`] : []
    return [...wide, ...beyond.map((one) => one.outerHTML.slice(0, 120))]
  })
}

/** What is chosen, and changed words of a diff, that only a background of the page would show. */
function unseenChoices(page: OpenedPage): Promise<string[]> {
  return page.evaluate(() => {
    const chosen = [
      ...document.querySelectorAll('[aria-current], [aria-selected=true], .segments [aria-pressed=true], mark'),
    ]
    const unseen = chosen.filter((one) => {
      const { outlineStyle, backgroundColor } = getComputedStyle(one)
      return one.tagName === 'MARK' ? !/^rgb\(/.test(backgroundColor) : outlineStyle === 'none'
    })
    return unseen.map((one) => one.outerHTML.slice(0, 120))
  })
}

async function findingsOn(page: OpenedPage, where: string, script = axe): Promise<string[]> {
  await page.evaluate(script)
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
