import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { loadSession } from '../../src/index.ts'
import { createWikitextRenderer } from '../../src/plugins/index.ts'
import { call } from '../../src/testing/index.ts'
import { writeLongSession } from '../long-session.ts'
import { tool, until } from '../server/server-kit.ts'
import { inBrowser, openTab, servePage } from './browser-kit.ts'
import { ended, eventually, openSession, serveLed, text, turn, write, writeSession } from './session-kit.ts'

const answer = [
  'I look at it.\n\n## Findings\n\n1. One\n2. Two\n\n   with more\n\n',
  '```ts\nconst a: number = 1\n\nexport function b() {}\n```\n\n',
  '| a | b |\n|---|---|\n| 1 | 2 |\n\nThe **end** of `it`.',
].join('')

inBrowser('the conversation', (browser) => {
  test('WB64 WB63 streaming: finished blocks stay the same elements, and the end is followed only at the end', async () => {
    const { model, ...served } = await serveLed()
    await writeSession(served.store, 's', [turn('t0', 'user', text('Before'))])
    const page = await openSession(browser(), served, 's')
    await write(page, 'Look at it')
    model.think('What could it be?')
    await page.getByRole('button', { name: 'thinking' }).waitFor()
    for (const piece of answer.match(/.{1,7}/gs)!) model.say(piece)
    await page.getByRole('feed').getByText('The end of it.').waitFor()
    // What is finished is marked; the marks stay only on elements that were not drawn again.
    await page.evaluate(() => {
      for (const element of document.querySelectorAll('.answer .markdown > *')) element.setAttribute('data-kept', '')
    })
    model.say('\n\nOne more paragraph that ')
    model.say('grows.')
    await page.getByRole('feed').getByText('One more paragraph that grows.').waitFor()
    expect(await page.locator('.answer .markdown > [data-kept]').count()).toBeGreaterThanOrEqual(5)
    expect(await page.locator('.answer .markdown > p:not([data-kept])').count()).toBe(1)

    const list = page.locator('.conversation')
    const distance = () => list.evaluate((view) => view.scrollHeight - view.clientHeight - view.scrollTop)
    model.say(`\n\n${'A long paragraph to scroll through. '.repeat(60)}\n\n`.repeat(6))
    await page.waitForFunction(() => document.querySelector('.conversation')!.scrollHeight > 2000)
    await eventually(distance).toBeLessThan(2)

    // The person scrolls up: the paragraph in sight stays where it is, whatever comes.
    await list.evaluate((view) => void (view.scrollTop -= 500))
    await page.getByRole('button', { name: 'Latest' }).waitFor()
    const sampled = page.evaluate(async () => {
      const seen = [...document.querySelectorAll('.markdown > p')].find((one) => one.getBoundingClientRect().top > 120)!
      const top = seen.getBoundingClientRect().top
      let worst = 0
      for (let frame = 0; frame < 60; frame++) {
        await new Promise(requestAnimationFrame)
        worst = Math.max(worst, Math.abs(seen.getBoundingClientRect().top - top))
      }
      return { worst, isThere: seen.isConnected }
    })
    for (let i = 0; i < 20; i++) model.say(`More text ${i}.\n\n`)
    model.end()
    expect(await sampled).toEqual({ worst: 0, isThere: true })
    await page.getByRole('button', { name: 'Latest' }).click()
    await page.getByRole('feed').getByText('More text 19.').waitFor()
    await eventually(distance).toBeLessThan(2)
    // Thinking is folded, with its duration.
    await list.evaluate((view) => void (view.scrollTop = 0))
    const thought = page.getByRole('button', { name: /thought for/ })
    await thought.click()
    await page.getByText('What could it be?').waitFor()
  })

  test('WB62 WB61 WB78 the end of a long session is there at once; then all of its rows, and the row in sight stays', async () => {
    const served = await serveLed()
    await writeLongSession(served.store, 'long', { turns: 3000, size: 200 })
    const writer = await loadSession(served.store, 'long')
    await writer.open()
    await writer.log.appendAll([turn('last', 'assistant', text('It runs.'), call('open', 'build'))])
    let letThrough = (): void => {}
    const isAllowed = new Promise<void>((resolve) => void (letThrough = resolve))
    const page = await openTab(browser(), served.link)
    await page.getByRole('navigation').waitFor()
    await page.route(/entries\?after=/, async (route) => {
      await isAllowed
      await route.continue()
    })
    await page.goto(`${served.url}/s/long`)
    const feed = page.getByRole('feed')
    await feed.getByText('It runs.').waitFor()
    await feed.evaluate((view) => void (view.scrollTop -= 100))
    await page.getByRole('button', { name: 'Latest' }).waitFor()
    const place = () =>
      page.evaluate(() => {
        const seen = [...document.querySelectorAll('.slot')].find((one) => one.getBoundingClientRect().top > 120)!
        return { key: seen.getAttribute('data-key'), top: seen.getBoundingClientRect().top }
      })
    const before = await place()
    expect(await page.locator('.slot').first().getAttribute('aria-setsize')).toMatch(/^1\d\d$/)
    letThrough()
    await eventually(() => page.locator('.slot').first().getAttribute('aria-setsize')).toBe('3032')
    const after = await place()
    expect(after.key).toBe(before.key)
    expect(Math.abs(after.top - before.top)).toBeLessThanOrEqual(1)
    expect(await page.locator('.slot').count()).toBeLessThan(40)
    // A row that was drawn before the others came still follows its own place.
    await page.getByRole('button', { name: 'Latest' }).click()
    await page.getByRole('button', { name: /not started build/ }).waitFor()
    await writer.log.appendAll([ended('open', 'built')])
    await page.getByRole('button', { name: /done build/ }).waitFor()
    await writer.release()
    // What a summary stands for is faded; the first row is reached from the keyboard.
    await feed.focus()
    await page.keyboard.press('Home')
    await feed.getByText(/^0 word/).waitFor()
    expect(await page.locator('.row[data-faded=true]').count()).toBeGreaterThan(3)
  })

  test('WB66 calls: one line each, several reads together, a failed one with its reason; opened, all of it', async () => {
    const served = await serveLed()
    const output = Array.from({ length: 3000 }, (_, i) => `line ${i}`).join('\n')
    const diff = '@@ -1,2 +1,2 @@\n same\n-old word\n+new word\n'
    await writeSession(served.store, 's', [
      turn('t0', 'user', text('Go')),
      turn('t1', 'assistant', call('a', 'read', { path: 'x.ts' }), call('b', 'read', { path: 'y.ts' })),
      ended('a', 'x'),
      ended('b', 'y'),
      turn('t2', 'assistant', call('c', 'shell', { command: 'make' }), call('d', 'edit', { path: 'z.ts' })),
      ended('c', `${output}\nerror: broken\n`, { isError: true, details: { exitCode: 2 } }),
      ended('d', 'edited', { details: { diff } }),
    ])
    const page = await openSession(browser(), served, 's')
    await page.getByRole('button', { name: /read x\.ts, y\.ts/ }).waitFor()
    await page.getByText('error: broken').waitFor()
    const shell = page.getByRole('button', { name: /failed shell make exit 2/ })
    await shell.click()
    // The page had cut it; opened, it is read again by its number.
    await eventually(() => page.locator('.call-details .output').first().textContent()).toContain('line 1500')
    await page.getByRole('button', { name: /done edit z\.ts/ }).click()
    await page.locator('.diff-line.added', { hasText: 'new word' }).waitFor()
    expect(await page.locator('.diff-line.added mark').textContent()).toBe('new')
    expect(await shell.getAttribute('aria-expanded')).toBe('true')
  })

  test('WB65 code gets its colours from a worker and is copied as it was written', async () => {
    const { model, ...served } = await serveLed()
    const page = await openSession(
      browser(),
      served,
      (await served.send('POST', '/v1/sessions', { id: 's' })).body.id,
      {
        permissions: ['clipboard-read', 'clipboard-write'],
      },
    )
    await write(page, 'Show code')
    model.reply(
      '```ts\nconst answer = 42 // yes\n```\n\n<img src=x onerror=alert(1)> ![x](https://evil.test/a.png) [l](javascript:alert(1))',
    )
    await page.locator('.hl-keyword', { hasText: 'const' }).waitFor()
    await page.getByRole('button', { name: 'Copy code' }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('const answer = 42 // yes')
    // Raw HTML is text, a remote image is a link, and only web pages are linked.
    await page.getByText('<img src=x onerror=alert(1)>').waitFor()
    expect(await page.locator('.answer img').count()).toBe(0)
    expect(await page.locator('.answer a').evaluateAll((all) => all.map((a) => a.getAttribute('href')))).toEqual([
      'https://evil.test/a.png',
    ])
    await page.getByRole('button', { name: 'More about this' }).last().click()
    await page.getByRole('menuitem', { name: 'Copy all of this turn' }).click()
    await eventually(() => page.evaluate(() => navigator.clipboard.readText())).toMatch(
      /^User:\nShow code\n\nAssistant:\n```ts/,
    )
  })

  test('WB68 an approval stands in the conversation, whole, and is gone when the log has the answer', async () => {
    const { model, ...served } = await serveLed({ tools: { save: tool('save', { gated: true }) } })
    await served.send('POST', '/v1/sessions', { id: 's' })
    const page = await openSession(browser(), served, 's')
    await write(page, 'Save it')
    model.reply('I save it.', [call('c1', 'save', { path: 'notes.txt', text: 'All of the text' })])
    const card = page.getByRole('region', { name: /save/ })
    await card.getByText('All of the text').waitFor()
    await write(page, 'And then go on')
    await page.getByText('sent: read when the run goes on').waitFor()
    model.reply('Saved.')
    await card.getByRole('button', { name: 'Allow once' }).click()
    await page.getByRole('feed').getByText('Saved.').waitFor()
    model.reply('Gone on.')
    await page.getByRole('feed').getByText('Gone on.').waitFor()
    expect(await page.getByText('sent: read').count()).toBe(0)
    await page.getByRole('button', { name: /done save/ }).click()
    await page.getByText(/allowed by/).waitFor()
    expect(await card.count()).toBe(0)
    await until(async () => (await served.store.find('s'))?.status === 'idle')
  })

  test('WB142 a message that waits for the run is in all tabs, after a reload too, and is taken back from any', async () => {
    const { model, ...served } = await serveLed({ tools: { save: tool('save', { gated: true }) } })
    await served.send('POST', '/v1/sessions', { id: 's' })
    const first = await openSession(browser(), served, 's')
    const second = await openSession(browser(), served, 's')
    await write(first, 'Save it')
    model.reply('I save it.', [call('c1', 'save', { path: 'notes.txt' })])
    const card = second.getByRole('region', { name: /save/ })
    await card.waitFor()
    await until(async () => !(await served.store.find('s'))?.isHeld)
    const row = (page: Page, words: string) => page.locator('.is-queued', { hasText: words })
    await write(first, 'And then go on')
    await row(second, 'And then go on').getByText('sent: read when the run goes on').waitFor()
    await first.reload()
    await row(first, 'And then go on').getByText('sent: read when the run goes on').waitFor()
    await served.store.send('s', { clientKey: 'k', mode: 'followUp', content: [text('From elsewhere')] })
    for (const page of [first, second]) await row(page, 'From elsewhere').waitFor()
    await row(second, 'And then go on').getByRole('button', { name: 'Take back' }).click()
    for (const page of [first, second]) await row(page, 'And then go on').waitFor({ state: 'detached' })
    model.reply('Saved.')
    await card.getByRole('button', { name: 'Allow once' }).click()
    model.reply('Gone on.')
    for (const page of [first, second]) {
      await page.getByRole('feed').getByText('Gone on.').waitFor()
      expect(await page.getByText('From elsewhere').count()).toBe(1)
      expect(await page.locator('.is-queued').count()).toBe(0)
      expect(await page.getByText('And then go on').count()).toBe(0)
    }
    await until(async () => (await served.store.find('s'))?.status === 'idle')
  })

  test('WB88 a tab that was asleep and without a network shows what happened meanwhile, once', async () => {
    const { model, ...served } = await serveLed()
    await served.send('POST', '/v1/sessions', { id: 's' })
    const page = await openSession(browser(), served, 's', {
      mayReport: /ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED/,
    })
    const feed = page.getByRole('feed')
    await write(page, 'Begin')
    model.say('A first ')
    await feed.getByText('A first').waitFor()
    const devtools = await page.context().newCDPSession(page)
    await page.context().setOffline(true)
    await devtools.send('Page.setWebLifecycleState', { state: 'frozen' })
    model.say('part, and a second one.')
    model.end()
    await until(async () => (await served.store.find('s'))?.status === 'idle')
    model.reply('An answer in the night.')
    await served.send('POST', '/v1/sessions/s/messages', { content: 'From elsewhere' })
    await until(async () => (await served.store.find('s'))?.turns === 4)
    await devtools.send('Page.setWebLifecycleState', { state: 'active' })
    await page.context().setOffline(false)
    await feed.getByText('An answer in the night.').waitFor()
    expect(
      (await feed.innerText()).match(/A first part, and a second one\.|From elsewhere|in the night/g),
    ).toHaveLength(3)
  })

  test('WB133 an embedder adds renderers: their own cards for results and approvals; one that fails is skipped', async () => {
    const renderers = `export default ({ h, register, messageKinds, useRef, useWaiting }) => {
      const Sign = () => {
        const ref = useRef(null)
        const { call, isActive, answer, words } = useWaiting(ref)
        const press = () => answer({ decision: 'allow' })
        return h('section', { 'aria-label': 'Sign here' }, h('b', null, 'To sign: ' + call.input.text),
          h('p', { ref }, h('button', { disabled: !isActive, onClick: press }, 'Sign')), words)
      }
      const isApproval = ({ metadata }) => metadata?.calls?.[0]?.waitsFor === 'permission'
      register({ id: 'sign', priority: 300, matches: isApproval, render: () => h(Sign) })
      register({ id: 'fails', priority: 400, matches: 'text/csv', render() { throw new Error('on purpose') } })
      register({ id: 'csv', priority: 50, matches: 'text/csv', render: ({ content }) =>
        h('table', null, content.split('\\n').map((line) => h('tr', null, line.split(',').map((cell) => h('td', null, cell))))) })
    }`
    const { model, ...served } = await serveLed({ renderers, tools: { save: tool('save', { gated: true }) } })
    await writeSession(served.store, 's', [
      turn('u1', 'user', text('Count')),
      turn('a1', 'assistant', text('I count.'), call('c1', 'count', {})),
      ended('c1', 'apples,2\n<b>pears</b>,3', { details: { contentType: 'text/csv' } }),
    ])
    const page = await openSession(browser(), served, 's')
    await page.getByRole('button', { name: /done count/ }).click()
    await page.getByRole('cell', { name: '<b>pears</b>' }).waitFor()
    await write(page, 'Save it')
    model.reply('I save it.', [call('c2', 'save', { text: 'the contract' })])
    const card = page.getByRole('region', { name: 'Sign here' })
    await card.getByText('To sign: the contract').waitFor()
    model.reply('Saved.')
    await card.getByRole('button', { name: 'Sign' }).click()
    await page.getByRole('feed').getByText('Saved.').waitFor()
    expect(await card.count()).toBe(0)
  })

  test('WB134 wikitext is rendered by TiddlyWiki on the server and rebuilt from allowed elements', async () => {
    const wiki = createWikitextRenderer()
    onTestFinished(() => wiki.close())
    const served = await servePage({ about: { wikitext: (source) => wiki.render(source) } })
    const source = [
      "! A title\n\n* one\n* two, ''bold''\n\n|a|b|\n\n[[site|https://example.com]] [[x|javascript:run('w1')]]",
      '<script>run("w2")</script><img src=x onerror="run(3)"><b style="position:fixed" onclick="run(4)">text</b>',
    ].join('\n\n')
    await writeSession(served.store, 's', [
      turn('u1', 'user', text('Read the page')),
      turn('a1', 'assistant', text('I read it.'), call('c1', 'wiki', {})),
      ended('c1', source, { details: { contentType: 'text/vnd.tiddlywiki' } }),
    ])
    const page = await openSession(browser(), served, 's')
    await page.getByRole('button', { name: /done wiki/ }).click()
    const shown = page.locator('.call-result .markdown')
    await shown.getByRole('heading', { name: 'A title' }).waitFor()
    expect(await shown.getByRole('listitem').allInnerTexts()).toEqual(['one', 'two, bold'])
    expect(await shown.getByRole('cell').allInnerTexts()).toEqual(['a', 'b'])
    expect(await shown.locator('a').evaluateAll((all) => all.map((one) => one.getAttribute('href')))).toEqual([
      'https://example.com/',
    ])
    expect(await shown.locator('script, img, [style], [onclick]').count()).toBe(0)
  })
})
