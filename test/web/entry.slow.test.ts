import { expect, test } from 'vitest'
import { scripted } from '../../src/testing/index.ts'
import { token } from '../server/server-kit.ts'
import { inBrowser, openTab, servePage } from './browser-kit.ts'

inBrowser('entering the page', (browser) => {
  test('WB120 the link logs in: the token leaves the address, and a cookie that scripts cannot read stays', async () => {
    const { link, url } = await servePage({ provider: () => scripted() })
    const page = await openTab(browser(), link)
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    expect(page.url()).toBe(`${url}/`)
    expect(await page.evaluate(() => document.cookie)).toBe('')
    const [cookie] = await page.context().cookies()
    expect(cookie).toMatchObject({ name: 'libero_session', httpOnly: true, sameSite: 'Strict' })
    await page.reload()
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  })

  test('WB121 a wrong token is refused in words, and the right one can be pasted', async () => {
    const { url } = await servePage({ provider: () => scripted() })
    const page = await openTab(browser(), `${url}/#token=wrong`, { mayReport: /401/ })
    await page.getByLabel('Token').fill('also-wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  })

  test('WB122 under a prefix the page and all of its addresses work', async () => {
    const { url, link } = await servePage({ provider: () => scripted(), basePath: '/tools/libero' })
    const page = await openTab(browser(), link)
    await page.getByRole('link', { name: 'Usage' }).click()
    expect(page.url()).toBe(`${url}/usage`)
    await page.reload()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
  })

  test('WB41 what a server does not offer is not asked for, and no link leads to a screen of it', async () => {
    const { url, link } = await servePage({ provider: () => scripted() })
    const page = await openTab(browser(), link)
    await page.getByRole('navigation').waitFor()
    await page.goto(`${url}/new`)
    await page.getByLabel('Folder').waitFor()
    const places = page.getByRole('navigation').locator('.place')
    await expect.poll(() => places.allInnerTexts()).toEqual(['Waiting', 'Sessions', 'Usage', 'Settings'])
    await page.keyboard.press('Control+k')
    await page.getByRole('option', { name: 'Usage' }).waitFor()
    expect(await page.getByRole('option', { name: 'Rules' }).count()).toBe(0)
  })

  test('WB138 a link that is pasted into an open tab logs in, as does one in the field; a login that fails says why', async () => {
    const served = await servePage({ provider: () => scripted() })
    const page = await openTab(browser(), `${served.url}/#token=wrong`, { mayReport: /401|net::ERR_/ })
    const sessions = page.getByRole('heading', { name: 'Sessions' })
    const problem = page.getByRole('alert')
    expect(await problem.innerText()).toMatch(/^The login failed: .*token/)
    // Only what is behind the # changes: the page is not loaded again.
    await page.evaluate((link) => location.assign(link), served.link)
    await sessions.waitFor()
    expect(page.url()).toBe(`${served.url}/`)
    await page.evaluate((link) => location.assign(link), `${served.url}/#token=used-before`)
    await problem.waitFor()

    await served.cut()
    await page.getByLabel('Token').fill(served.link)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText(/^The login failed: .*no whole answer/).waitFor()
    await served.listen()
    await page.getByRole('button', { name: 'Log in' }).click()
    await sessions.waitFor()
  })

  test('WB138 a host with a login of its own, which gives no cookie for a token, is named as the place to log in', async () => {
    const auth = { verify: ({ headers }: Request) => (headers.has('authorization') ? { user: 'ada' } : undefined) }
    const { url } = await servePage({ provider: () => scripted(), auth })
    const page = await openTab(browser(), `${url}/#token=any`, { mayReport: /401|501/ })
    expect(await page.getByRole('alert').innerText()).toContain('log in at the host')
  })
})
