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
})
