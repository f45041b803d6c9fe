import type { Locator } from 'playwright-core'
import { expect, test } from 'vitest'
import { loadSession } from '../../src/index.ts'
import { call } from '../../src/testing/index.ts'
import { writeLongSession } from '../long-session.ts'
import { tool, until } from '../server/server-kit.ts'
import { inBrowser } from './browser-kit.ts'
import { ended, entriesOf, eventually, openSession, serveLed, text, turn, write, writeSession } from './session-kit.ts'

inBrowser('around a session', (browser) => {
  test('WB74 WB75 WB81 a link to an entry, words that are found anywhere, the session as it was', async () => {
    const served = await serveLed()
    await writeLongSession(served.store, 'long', { turns: 1000, size: 100 })
    const all = await entriesOf(served.store, 'long')
    const entry = all.find((one) => one.type === 'turn' && one.turn.id === 't501')!
    const page = await openSession(browser(), served, `long#${entry.seq}`)
    const feed = page.getByRole('feed')
    await page.locator('.slot[data-marked=true]', { hasText: '501 word' }).waitFor()
    await feed.getByText(/^501 word/).waitFor()

    await page.keyboard.press('Control+f')
    const find = page.getByRole('searchbox', { name: 'Find in this session' })
    await find.fill('42 WORD')
    await page.getByText('10 of 10').waitFor() // 42, 142, …, the last one in sight
    await find.fill('741 word')
    await page.locator('.slot[data-marked=true]', { hasText: '741 word' }).waitFor()
    // The words themselves are marked, not only their row.
    await eventually(() => page.evaluate(() => [...(CSS.highlights.get('find-here') ?? [])].map(String))).toEqual([
      '741 word',
    ])
    await page.getByRole('button', { name: 'Hit before' }).click()
    await page.getByText('1 of 1').waitFor()
    await find.fill('no such words')
    await page.getByText('none', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    expect(await find.count()).toBe(0)

    const slider = page.getByRole('slider', { name: 'Entry that is shown' })
    const early = all.find((one) => one.type === 'turn' && one.turn.id === 't11')!
    await slider.fill(String(early.seq))
    await page.getByText(`You see the session as it was after entry ${early.seq}`).waitFor()
    await eventually(() => page.locator('.slot').first().getAttribute('aria-setsize')).toBe('13')
    await page.getByRole('button', { name: 'Fork from here' }).click()
    await page.waitForURL((url) => !url.pathname.endsWith('/long'))
    await eventually(() => page.locator('.slot').last().textContent()).toContain('A copy of session long')
  })

  test('WB76 retry, delete and edit as a fork; the title is renamed in place', async () => {
    const { model, ...served } = await serveLed()
    await served.send('POST', '/v1/sessions', { id: 's' })
    const page = await openSession(browser(), served, 's')
    const feed = page.getByRole('feed')
    const more = async (row: string, item: string): Promise<void> => {
      await page.locator('.message', { hasText: row }).hover()
      await page.locator('.message', { hasText: row }).getByRole('button', { name: 'More about this' }).click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    await page
      .getByLabel('Files to attach')
      .setInputFiles([{ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Some notes') }])
    await page.getByRole('list', { name: 'Attached' }).getByText('notes.txt').waitFor()
    await write(page, 'A question')
    model.reply('First answer')
    await feed.getByText('First answer').waitFor()
    await until(async () => (await served.store.find('s'))?.status === 'idle')
    await more('A question', 'Retry')
    model.reply('Second answer')
    await feed.getByText('Second answer').waitFor()
    expect(await feed.getByText('First answer').count()).toBe(0)
    await until(async () => (await served.store.find('s'))?.status === 'idle')
    await more('A question', 'Edit and resend as a fork')
    await page.waitForURL((url) => !url.pathname.endsWith('/s/s'))
    const field = page.getByRole('textbox', { name: 'Message' })
    await eventually(() => field.inputValue()).toBe('A question')
    await page.getByRole('list', { name: 'Attached' }).getByText('notes.txt').waitFor()
    const copy = decodeURIComponent(new URL(page.url()).pathname.slice('/s/'.length))
    // What is edited is not sent by itself.
    expect(await served.store.find(copy)).toMatchObject({ status: 'idle' })
    expect((await loadSession(served.store, copy)).log.transcript.inbox).toEqual([])
    await page.goBack()
    await feed.getByText('Second answer').waitFor()
    await more('A question', 'Delete')
    await eventually(() => field.inputValue()).toBe('A question')
    await eventually(() => feed.getByText('Second answer').count()).toBe(0)

    await page.getByRole('heading', { level: 1 }).getByRole('button').click()
    await page.getByRole('textbox', { name: 'Title' }).fill('Another title')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Another title' }).waitFor()
    await until(async () => (await served.store.find('s'))?.title === 'Another title')
  })

  test('WB79 the inspector: lanes, filters, raw entries, the state then, a fork from there, a dropped export', async () => {
    const served = await serveLed()
    await writeLongSession(served.store, 'long', { turns: 200, size: 50 })
    const page = await openSession(browser(), served, 'long')
    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Log', exact: true }).click()
    await page.getByRole('heading', { name: /^Log:/ }).waitFor()
    const { head } = (await served.store.find('long'))!
    await page.getByText(`${head} of ${head}`).waitFor()
    await page.getByRole('img', { name: /runs and calls/ }).waitFor()
    await page.getByRole('slider', { name: 'Entry' }).fill('12')
    await page.getByRole('heading', { name: 'Entry 12' }).waitFor()
    await page.getByText(/^Then: working · \d+ rows/).waitFor()
    expect(page.url()).toMatch(/\/s\/long\/log#12$/)
    await page.getByRole('button', { name: /^turn / }).click()
    await page.getByRole('searchbox', { name: 'Filter by words' }).fill('compaction')
    await eventually(() => page.getByRole('option').count()).toBe(2)
    await page.getByRole('option').first().click()
    await page.locator('.entry-detail .hl-attr', { hasText: '"toSeq"' }).waitFor()
    const exported = (await served.send('GET', '/v1/sessions/long/export')).body as string
    const cut = exported.split('\n').slice(0, 6).join('\n')
    await page
      .getByLabel('Open an export')
      .setInputFiles({ name: 'other.jsonl', mimeType: '', buffer: Buffer.from(cut) })
    await page.getByRole('heading', { name: 'Log: other.jsonl' }).waitFor()
    await page.getByText('5 of 5').waitFor()
    await page.getByRole('button', { name: 'Back to the session' }).click()
    await page.getByRole('button', { name: 'Fork from here' }).click()
    await page.getByRole('feed').waitFor()
  })

  test('WB84 WB87 WB67 what is heard, the list of steps, and sub-agents below their call', async () => {
    const { model, ...served } = await serveLed({ tools: { save: tool('save', { gated: true }) } })
    await writeSession(served.store, 's', [
      {
        type: 'state',
        owner: 'todo',
        value: [
          { content: 'one', status: 'completed' },
          { content: 'two', status: 'in_progress' },
        ],
      },
      turn('t0', 'user', text('Go')),
      turn('t1', 'assistant', text('I ask another one.'), call('sub', 'task', { task: 'look around' })),
    ])
    const parent = await loadSession(served.store, 's')
    await parent.open()
    const child = await parent.child('scout')
    await child.log.appendAll([
      {
        ...{ type: 'run_started', runId: 'r2', model: 'm', agent: 'scout' },
        parent: { session: 's', runId: 'r', callId: 'sub' },
      },
      turn('k1', 'user', text('look around')),
      ...Array.from({ length: 40 }, (_, i) => turn(`n${i}`, 'user', text(`step ${i} of the way`))),
      turn('k2', 'assistant', text('There is a door.')),
    ])
    await parent.release()
    const page = await openSession(browser(), served, 's')
    await page.getByRole('button', { name: 'todo 2 of 2: two' }).click()
    await page.getByRole('listitem').filter({ hasText: 'one' }).waitFor()
    await page.getByRole('button', { name: /scout There is a door\./ }).click()
    await page.locator('.child .markdown', { hasText: 'There is a door.' }).waitFor()
    expect(await page.locator('.child').getByText('step 2 of the way').count()).toBe(0)
    await page.locator('.child').getByRole('button', { name: '12 earlier rows' }).click()
    await page.locator('.child').getByText('step 2 of the way').waitFor()
    await page.getByRole('button', { name: /scout There is a door\./ }).click()
    expect(await page.getByRole('feed').getByRole('link', { name: 'Open' }).getAttribute('href')).toBe('/s/s%2Fscout')
    const log = page.getByRole('log')
    await write(page, 'Save it')
    model.say('A first paragraph.\n\nA second ')
    await log.getByText('A first paragraph.').waitFor()
    expect(await log.textContent()).not.toContain('A second')
    model.say('paragraph.')
    model.end([call('c1', 'save', { path: 'x' })])
    await log.getByText('A second paragraph.').waitFor()
    await log.getByText('save waits for you').waitFor()
    const places = await page.locator('.slot').evaluateAll((all) => all.map((one) => one.getAttribute('aria-posinset')))
    expect(places).toEqual(places.map((_, i) => String(Number(places[0]) + i)))
    expect(await page.locator('.slot').last().getAttribute('aria-setsize')).toBe(places.at(-1))
  })

  test('WB85 WB86 a run in another program is told, without its words; on paper all rows stand', async () => {
    const served = await serveLed()
    await writeLongSession(served.store, 's', { turns: 100, size: 50 })
    const page = await openSession(browser(), served, 's')
    await eventually(() => page.locator('.slot').first().getAttribute('aria-setsize')).toBe('101')
    const other = await loadSession(served.store, 's')
    await other.open()
    await other.log.appendAll([
      { type: 'run_started', runId: 'r', model: 'm' },
      turn('u', 'user', text('From a terminal')),
      turn('v', 'assistant', text('Whole replies only.'), call('c', 'look')),
    ])
    await page.getByText('It runs in another program').waitFor()
    await other.log.appendAll([{ type: 'run_ended', runId: 'r', status: 'completed', stop: 'end' }])
    await eventually(() => page.getByText('It runs in another program').count()).toBe(0)
    await other.release()
    expect(await page.locator('.slot').count()).toBeLessThan(60)
    await page.evaluate(() => void dispatchEvent(new Event('beforeprint')))
    expect(await page.locator('.slot').count()).toBeGreaterThan(100)
    await page.emulateMedia({ media: 'print' })
    expect(await page.locator('.composer').isVisible()).toBe(false)
    await page.evaluate(() => void dispatchEvent(new Event('afterprint')))
    await page.emulateMedia({ media: null })
    await eventually(() => page.locator('.slot').count()).toBeLessThan(60)
  })

  test('WB82 a session is used with the keyboard alone', async () => {
    const { model, ...served } = await serveLed()
    await writeSession(served.store, 's', [
      turn('t0', 'user', text('Go')),
      turn('t1', 'assistant', text('Done.'), call('a', 'shell', { command: 'make' })),
      ended('a', 'made'),
    ])
    const page = await openSession(browser(), served, 's')
    const tabTo = async (name: string | RegExp): Promise<void> => {
      for (let i = 0; i < 80; i++) {
        await page.keyboard.press('Tab')
        const label = await page.evaluate(() => {
          const { activeElement: at } = document
          return at?.getAttribute('aria-label') ?? at?.textContent ?? ''
        })
        if (typeof name === 'string' ? label === name : name.test(label)) return
      }
      throw new Error(`Tab does not lead to ${String(name)}`)
    }
    await page.locator('body').press('Tab')
    await tabTo('More')
    await page.keyboard.press('Enter')
    await page.getByRole('menu').waitFor()
    await page.keyboard.press('ArrowDown')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Log')
    await page.keyboard.press('Escape')
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('More')
    await tabTo(/shell/)
    await page.keyboard.press('Enter')
    await page.locator('.call-details').waitFor()
    await tabTo('Message')
    await page.keyboard.type('Again')
    await page.keyboard.press('Enter')
    model.reply('And again.')
    await page.getByRole('feed').getByText('And again.').waitFor()
    await tabTo('Files')
    await page.keyboard.press('ArrowRight')
    await page.getByRole('tab', { name: 'Log', selected: true }).waitFor()
  })

  test('WB83 on a phone the details are a sheet, a decision is pinned above the field, and Enter breaks lines', async () => {
    const { model, ...served } = await serveLed({ tools: { save: tool('save', { gated: true }) } })
    await writeSession(served.store, 's', [
      turn('t0', 'user', text('Go')),
      turn('t1', 'assistant', text('Done. '.repeat(400))),
    ])
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
    const page = await openSession(browser(), served, 's', phone)
    const field = page.getByRole('textbox', { name: 'Message' })
    await page.getByRole('button', { name: 'More about this' }).last().tap()
    await page.getByRole('menuitem', { name: 'Copy link' }).waitFor()
    await page.keyboard.press('Escape')
    await field.tap()
    await page.keyboard.type('One')
    await page.keyboard.press('Enter')
    await page.keyboard.type('two')
    expect(await field.inputValue()).toBe('One\ntwo')
    await page.getByRole('button', { name: 'Send' }).tap()
    model.reply('I save.', [call('c1', 'save', { path: 'x', text: 'y\n'.repeat(100) })])
    const allow = page.getByRole('button', { name: 'Allow once' })
    await allow.waitFor()
    const box = (await allow.boundingBox())!
    const composer = (await page.locator('.composer').boundingBox())!
    expect(box.height).toBeGreaterThanOrEqual(44)
    expect(box.y + box.height).toBeLessThanOrEqual(composer.y + 1)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    await page.getByRole('button', { name: 'Details' }).tap()
    await page.getByRole('tab', { name: 'Context' }).waitFor()
    await page.getByRole('button', { name: 'Close the details' }).tap()
    expect(await page.getByRole('tab', { name: 'Context' }).isVisible()).toBe(false)
    // A keyboard that lies over the page, as on iOS: only the visual viewport tells of it.
    await page.evaluate(() => {
      Object.defineProperty(visualViewport!, 'height', { value: 500 })
      visualViewport!.dispatchEvent(new Event('resize'))
    })
    const above = async (part: Locator): Promise<number> => {
      const { y, height } = (await part.boundingBox())!
      return y + height
    }
    expect(await above(page.locator('.composer'))).toBeLessThanOrEqual(500)
    expect(await above(allow)).toBeLessThanOrEqual(500)
  })
})
