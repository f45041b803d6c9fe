import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { createMemoryStore } from '../../src/index.ts'
import { createSession } from '../../src/sessions/session.ts'
import { scripted } from '../../src/testing/index.ts'
import { inBrowser, openTab, servePage } from './browser-kit.ts'
import { untilShown } from './screens.ts'
import { sharedHost } from './shared-host.ts'

inBrowser('lists and forms', (browser) => {
  const shared = sharedHost()
  async function open(path: string) {
    const { host } = shared()
    const page = await openTab(browser(), host.link, { mayReport: /422/ })
    await untilShown(page)
    await page.goto(host.url + path)
    return { page, main: page.getByRole('main'), host }
  }

  test('WB97 WB111 sessions under headings, filtered by the server; a phrase is found in all that was said', async () => {
    const { page, main } = await open('/')
    await main.getByRole('heading', { name: 'Waits for you' }).waitFor()
    expect(await main.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual(['Waits for you', 'Stopped', 'Today'])
    await page.getByRole('button', { name: 'Failed' }).click()
    const titles = () => main.locator('.session-line > a .one-line').allInnerTexts()
    await vi.waitFor(async () => expect(await titles()).toEqual(['Nightly report']), { timeout: 10_000 })
    await page.getByRole('button', { name: 'All', exact: true }).click()
    await page.getByLabel('Tag', { exact: true }).selectOption('review')
    await vi.waitFor(async () => expect(await titles()).toEqual(['Review the change']), { timeout: 10_000 })

    // A phrase is found in all that was said, and leads to its entry.
    await page.getByLabel('Search all sessions').fill('rounds nowhere')
    const hit = main.locator('.item-list li', { hasText: 'answer' })
    await hit.waitFor()
    expect(await hit.locator('mark').innerText()).toBe('rounds nowhere')
    expect(await hit.getByRole('link').getAttribute('href')).toMatch(/^\/s\/review#\d+$/)
  })

  test('WB98 WB112 a session is renamed, tagged, labelled, copied, exported, deleted and imported again', async () => {
    const { page, main, host } = await open('/')
    const { send } = host
    await page.getByLabel('Tag', { exact: true }).selectOption('review')
    await page.getByRole('button', { name: 'Actions for Review the change' }).click()
    await page.getByLabel('Title').fill('Reviewed')
    await page.getByLabel('Tags').fill('review done')
    await page.getByLabel('Label the end of the log').fill('before the rewrite')
    await page.getByRole('button', { name: 'Save' }).click()
    await main.locator('.session-line', { hasText: 'Reviewed' }).getByRole('button', { name: 'done' }).waitFor()
    const copy = (await send('/v1/sessions/review/fork', { at: 3 })).body.id
    await page.getByRole('button', { name: 'Fork tree' }).click()
    const tree = main.locator('.fork-tree')
    await tree.getByRole('link', { name: 'before the rewrite' }).waitFor()
    expect(await tree.locator(`li li a[href="/s/${copy}"]`).count()).toBe(1)
    expect((await send(`/v1/sessions/${copy}`, undefined, { method: 'DELETE' })).status).toBe(204)
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    const exported = await (await downloading).path()
    expect(readFileSync(exported, 'utf8').trim().split('\n').length).toBeGreaterThan(3)
    await page.getByRole('button', { name: 'Delete' }).click()
    expect((await send('/v1/sessions/review')).status).toBe(200)
    await page.getByRole('button', { name: 'Delete for good' }).click()
    await main.getByText('No session is like that.').waitFor()
    expect((await send('/v1/sessions/review')).status).toBe(404)
    await page.getByLabel('A session as a JSONL file').setInputFiles(exported)
    await page.waitForURL(/\/s\//)
  })

  test('WB103 usage as bars and as tables, and what fills the context of a session', async () => {
    const { main } = await open('/usage')
    await main.getByText('As a table').click()
    expect(await main.getByRole('region', { name: 'Tokens by day and model' }).innerText()).toMatch(
      /mock-1.*\d{4}-\d\d-\d\d/s,
    )
    await main.getByRole('heading', { name: 'By tool' }).waitFor()
    expect(await main.getByRole('region', { name: 'By tool' }).innerText()).toContain('read_file')

    await main.getByLabel(/^Session/).selectOption({ label: 'Fix the failing test' })
    await main.getByRole('img', { name: /^Context: / }).waitFor()
  })

  test('WB104 rules are explained and tested, grants revoked, the audit read', async () => {
    const { page, main, host } = await open('/rules')
    const { send } = host
    await page.getByLabel('A line of the shell').fill('git push origin main')
    await page.keyboard.press('Enter')
    await main.getByText('asks you').waitFor()
    expect(await main.locator('.explanation').innerText()).toMatch(/decided by.*does.*net/s)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByLabel(/^Calls, one a line/).fill('allow git status\ndeny ls')
    await main.getByRole('button', { name: 'Test' }).last().click()
    await main.getByText('1 of 2 are not as expected').waitFor()
    const { body } = await send('/v1/pending')
    const edit = body.pending.find(({ name }: { name: string }) => name === 'edit')
    const answer = { decision: 'allow', digest: edit.digest, scope: 'session' }
    expect((await send(`/v1/sessions/${edit.session}/answers/${edit.callId}`, answer)).status).toBe(202)
    await vi.waitFor(async () => expect((await send('/v1/grants')).body.grants).toHaveLength(1), { timeout: 10_000 })
    await page.getByRole('button', { name: 'Grants' }).click()
    await main.getByText('edit in src').waitFor()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Revoke now' }).click()
    await main.getByText('Nothing is allowed for longer').waitFor()
    await page.getByRole('button', { name: 'Audit' }).click()
    await page.getByLabel('Tool').fill('read_file')
    await page.getByLabel('Tool').blur()
    await main.getByText('tool invocation succeeded').first().waitFor()
  })

  test('WB106 tools with their schemas; keys that are never read; settings; the theme; logout', async () => {
    const { page, main, host } = await open('/tools')
    const { url, desk } = host
    await page.getByLabel(/^Search \d+ tools/).fill('multi_edit')
    await main.locator('summary', { hasText: 'Input' }).click()
    await main.getByText('old_string').first().waitFor()

    // A key is written and never read; a setting says where it comes from; the theme stays.
    await page.goto(`${url}/settings`)
    await page.getByRole('button', { name: 'Dark', exact: true }).click()
    await page.reload()
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
    await page.getByRole('button', { name: 'Keys' }).click()
    await page.getByLabel(/^Search \d+ providers/).fill('anthropic')
    await page.getByRole('button', { name: 'Add a key' }).click()
    await page.getByLabel('Key of anthropic').fill('sk-secret-0123456789')
    await page.getByLabel(/Ask the provider first/).uncheck()
    await page.getByRole('button', { name: 'Store the key' }).click()
    await main.getByText('stored on the server').waitFor()
    expect(await page.content()).not.toContain('sk-secret')
    await page.getByRole('button', { name: 'All settings' }).click()
    await page.getByRole('button', { name: 'Change maxTurns' }).click()
    await page.getByLabel(/^A text, a number/).fill('7')
    await page.getByRole('button', { name: 'Save' }).click()
    await vi.waitFor(() => expect(JSON.parse(readFileSync(`${desk.home}/config.json`, 'utf8')).maxTurns).toBe(7), {
      timeout: 10_000,
    })
    await page.getByRole('button', { name: 'General' }).click()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Token').waitFor()
  })

  test('WB99 WB110 a first visit has examples; a draft is kept; of many sessions only those in sight are in the document', async () => {
    const store = createMemoryStore()
    const { url, link } = await servePage({ store, provider: () => scripted('First.') })
    const page = await openTab(browser(), link, { mayReport: /501/ })
    await page.getByRole('button', { name: 'Find the failing test and fix it' }).click()
    const message = page.getByLabel('What should be done?')
    expect(await message.inputValue()).toBe('Find the failing test and fix it')
    await message.fill('Tidy the drawer')
    await page.reload()
    expect(await message.inputValue()).toBe('Tidy the drawer')
    await message.press('Enter')
    await page.waitForURL(/\/s\//)
    await page.getByText('First.').first().waitFor()
    await page.goto(`${url}/new`)
    expect(await message.inputValue()).toBe('')

    for (let i = 0; i < 700; i++)
      await (await createSession({ store, id: `many-${i}` })).setDetails({ title: `Number ${i}` })
    await page.goto(url)
    await page
      .getByRole('main')
      .getByText(/^Number/)
      .first()
      .waitFor()
    await vi.waitFor(
      async () => {
        await page.evaluate(() => document.getElementById('screen')!.scrollTo({ top: 1e6 }))
        expect(await page.getByRole('main').getByText('Tidy the drawer').count()).toBe(1)
      },
      { timeout: 20_000, interval: 50 },
    )
    expect(await page.locator('.session-row').count()).toBeLessThan(100)
  })

  test('WB107 the palette, the list of keys and the way to the content work by keys alone, and the focus comes back', async () => {
    const { url, link, send } = await servePage({ provider: () => scripted() })
    await send('POST', '/v1/sessions', { id: 'tidy', title: 'Tidy the drawer' })
    const page = await openTab(browser(), link, { mayReport: /501|404/ })
    await untilShown(page)
    await page.goto(`${url}/settings`)
    await untilShown(page)
    const theme = page.getByRole('button', { name: 'Light' })
    await theme.focus()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('tidy')
    await page.keyboard.press('Escape')
    await page.getByRole('combobox').waitFor({ state: 'detached' })
    const isFocused = () => theme.evaluate((element) => element === document.activeElement)
    await vi.waitFor(async () => expect(await isFocused()).toBe(true), { timeout: 10_000 })
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).getByText('allows once').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('tidy')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/s\/tidy/)
    await page.goto(`${url}/usage`)
    await untilShown(page)
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('screen')
  })

  test('WB105 the login of an MCP server goes on in another tab, and the list follows; what a server does not offer is said', async () => {
    const login = { state: 'out' as 'out' | 'open' | 'in' }
    const server = () => ({
      ...{ name: 'wiki', transport: 'http', from: 'settings', where: 'config.json', state: 'used' },
      ...{ isLoggedIn: login.state === 'in', login: login.state === 'in' ? 'logged in' : 'not logged in' },
      ...(login.state === 'open' && { loginState: { state: 'open' } }),
    })
    const about = {
      mcp: async () => [server()],
      mcpLogin: async () => {
        login.state = 'open'
        return { url: 'https://login.example/authorize?x=1' }
      },
      mcpLogout: async () => {
        login.state = 'out'
        return { removed: 1, revoked: 1 }
      },
      skills: async () => [{ name: 'tidy', source: 'user', state: 'wrong', problem: 'It has no name' }],
    }
    const { url, link } = await servePage({ provider: () => scripted(), about })
    const page = await openTab(browser(), link, { mayReport: /501/ })
    await untilShown(page)
    await page.goto(`${url}/tools`)
    await page.getByText('This server does not offer tools.').waitFor()
    await page.getByRole('button', { name: 'MCP servers' }).click()
    await page.getByRole('button', { name: 'Log in' }).click()
    const loginLink = page.getByRole('link', { name: 'Open the login' })
    await loginLink.waitFor()
    expect(await loginLink.getAttribute('href')).toBe('https://login.example/authorize?x=1')
    expect(await loginLink.getAttribute('rel')).toBe('noopener noreferrer')
    login.state = 'in'
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    await page.getByRole('button', { name: 'Skills' }).click()
    await page.getByText('It has no name').waitFor()
  })

  test('WB108 WB109 the page can be installed under a prefix, and has room on a phone of 320 pixels', async () => {
    const { url, link } = await servePage({ provider: () => scripted(), basePath: '/libero' })
    const phone = await openTab(browser(), link, {
      ...{ viewport: { width: 320, height: 640 }, isMobile: true, hasTouch: true, mayReport: /501/ },
    })
    await untilShown(phone)
    const manifest = await phone.locator('link[rel=manifest]').evaluate(async (element: HTMLLinkElement) => {
      const { icons, start_url } = await (await fetch(element.href)).json()
      const at = (path: string) => new URL(path, element.href)
      return { icon: (await fetch(at(icons[0].src))).status, start: at(start_url).pathname }
    })
    expect(manifest).toEqual({ icon: 200, start: '/libero/' })
    for (const path of ['/', '/new', '/waiting', '/agents', '/schedules', '/usage', '/rules', '/tools', '/settings']) {
      await phone.goto(url + path)
      await untilShown(phone)
      const found = await phone.evaluate(() => {
        const pressed = [
          ...document.querySelectorAll('main button, main select, nav > header button, nav > header .button'),
        ]
        const heights = pressed.map((element) => element.getBoundingClientRect().height)
        const small = pressed.filter((_, i) => heights[i]! > 0 && heights[i]! < 44).map((one) => one.textContent)
        return { isWide: document.documentElement.scrollWidth > innerWidth, small }
      })
      expect({ path, ...found }).toEqual({ path, isWide: false, small: [] })
    }
    await phone.getByRole('button', { name: 'Menu' }).click()
    await phone.getByRole('link', { name: 'Waiting' }).click()
    await phone.getByText('Nothing waits for you').waitFor()
  })
})
