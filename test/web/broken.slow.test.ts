import { expect, test } from 'vitest'
import { call } from '../../src/testing/index.ts'
import { tool } from '../server/server-kit.ts'
import { inBrowser, openTab, servePage } from './browser-kit.ts'
import { openSession, serveLed, text, turn, write, writeSession } from './session-kit.ts'

inBrowser('a page of which a part fails', (browser) => {
  test('WB136 a row, a card or a screen that cannot be drawn says so, with a link to the entry; the rest goes on', async () => {
    const renderers = `export default ({ h, register }) => {
      const Breaks = () => { throw new Error('broken on purpose') }
      register({ id: 'row', priority: 900, matches: ({ content }) => content.includes('break'), render: () => h(Breaks) })
      register({ id: 'card', priority: 900, matches: ({ metadata }) => metadata?.toolId === 'save', render: () => h(Breaks) })
    }`
    const { model, ...served } = await serveLed({ renderers, tools: { save: tool('save', { gated: true }) } })
    await writeSession(served.store, 's', [
      turn('u1', 'user', text('Begin')),
      turn('a1', 'assistant', text('This will break.')),
      turn('u2', 'user', text('Go on')),
      turn('a2', 'assistant', text('This is shown.')),
    ])
    const page = await openSession(browser(), served, 's', { mayReport: /could not be shown/ })
    const feed = page.getByRole('feed')
    await feed.getByText('This is shown.').waitFor()
    expect(await feed.getByRole('alert').innerText()).toBe('This entry could not be shown: broken on purpose')

    // The card of an embedder that fails gives way to that of the page, which can be answered.
    await write(page, 'Save it')
    model.reply('Now.', [call('c1', 'save', { text: 'a' })])
    await page.getByText('This card of save could not be shown: broken on purpose').first().waitFor()
    model.reply('Saved.')
    await page.getByRole('button', { name: 'Allow once' }).click()
    await feed.getByText('Saved.').waitFor()

    // Not that of the card, which may still stand when the first words of the answer do.
    const broken = feed.locator('.failure').filter({ hasText: 'This entry could not be shown' })
    await broken.getByRole('link', { name: /Entry \d+ of the log/ }).click()
    await page.getByText('"This will break."').first().waitFor()
    expect(page.url()).toMatch(/\/s\/s\/log#\d+$/)

    await page.route('**/v1/usage*', (route) => route.fulfill({ json: { days: 7 } }))
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.getByText(/^This screen could not be shown: /).waitFor()
    await page.getByRole('link', { name: 'Sessions', exact: true }).click()
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  })

  test('WB137 a page whose server is away at its first request, or when code is loaded, says so and goes on by itself', async () => {
    const served = await servePage()
    await writeSession(served.store, 's', [turn('u1', 'user', text('Begin')), turn('a1', 'assistant', text('Begun.'))])
    const mayReport = /net::ERR_/
    const page = await openTab(browser(), 'about:blank', { mayReport })
    // The files of the page are there, the server is gone before the first request of its program.
    await page.route('**/v1/**', async (route) => {
      await served.cut()
      await route.abort()
    })
    await page.goto(served.link)
    const offline = page.getByRole('status').filter({ hasText: 'Offline' })
    await offline.waitFor()
    await page.unroute('**/v1/**')
    await served.listen()
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await offline.waitFor({ state: 'detached' })

    await served.cut()
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.getByText('could not be loaded').first().waitFor()
    await served.listen()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()

    await served.cut()
    await page.evaluate(() => {
      history.pushState(null, '', '/s/s')
      dispatchEvent(new PopStateEvent('popstate'))
    })
    await page.getByText('could not be loaded').first().waitFor()
    await served.listen()
    await page.getByRole('feed').getByText('Begun.').waitFor()
  })

  test('WB137 a page of which only the first file came says so, and is whole when it is reloaded', async () => {
    const { url, link } = await serveLed()
    const page = await openTab(browser(), link, { mayReport: /Failed to load/ })
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.route(/\/index-[^/]+\.js$/, (route) => route.abort())
    await page.goto(`${url}/usage`)
    const words = page.getByText('Reload it to try again')
    await words.waitFor()
    await page.unroute(/\/index-[^/]+\.js$/)
    await page.reload()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    expect(await words.isVisible()).toBe(false)
  })

  test('WB137 renderers of an embedder, and the worker that colours code, are loaded again; meanwhile the page draws without them', async () => {
    const renderers = `export default ({ h, register }) =>
      register({ id: 'own', priority: 900, matches: ({ content }) => content.includes('special'), render: () => h('b', null, 'Drawn by the embedder') })`
    const served = await servePage({ renderers })
    const code = (name: string): string => ['```js', `const ${name} = 1`, '```'].join('\n')
    await writeSession(served.store, 's', [
      turn('u1', 'user', text('Begin')),
      turn('a1', 'assistant', text('Something special.')),
      turn('u2', 'user', text('Code?')),
      turn('a2', 'assistant', text(code('one'))),
    ])
    const mayReport = /net::ERR_|status of 503/
    const page = await openTab(browser(), served.link, { mayReport })
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    const isRefused = { renderers: true, worker: true }
    await page.route(/renderers/, (route) => (isRefused.renderers ? route.abort() : route.continue()))
    await page.route(/highlight-worker/, (route) => (isRefused.worker ? route.abort() : route.continue()))
    await page.goto(`${served.url}/s/s`)
    const feed = page.getByRole('feed')
    await feed.getByText('Something special.').waitFor()
    await feed.getByText('const one = 1').waitFor()
    await page.waitForTimeout(300) // the worker has failed
    expect(await feed.locator('.hl-keyword').count()).toBe(0)
    isRefused.worker = false
    isRefused.renderers = false
    // Drawn anew with the renderers, the code is asked about again.
    await feed.getByText('Drawn by the embedder').waitFor()
    await feed.locator('.hl-keyword').first().waitFor()
  })
})
