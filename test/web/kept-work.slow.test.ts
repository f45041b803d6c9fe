import { expect } from 'vitest'
import { call } from '../../src/testing/index.ts'
import { tool } from '../server/server-kit.ts'
import { testInTurns } from '../soak.ts'
import { inBrowser, openTab } from './browser-kit.ts'
import { eventually, openSession, serveLed, text, turn, write, writeSession } from './session-kit.ts'

const test = testInTurns(2)

inBrowser('what a person has under way', (browser) => {
  test('WB139 a list of completions that was found for another text changes nothing, and Enter sends what was written', async () => {
    const { model, ...served } = await serveLed()
    await served.send('POST', '/v1/sessions', { id: 's' })
    const page = await openSession(browser(), served, 's')
    let isHeld = false
    await page.route('**/completions*', (route) => {
      if (!isHeld) return route.fulfill({ json: { from: 0, to: 4, items: [{ text: 'src/cart.js' }] } })
    })
    const field = page.getByRole('textbox', { name: 'Message' }).or(page.getByRole('combobox', { name: 'Message' }))
    await field.pressSequentially('@car')
    await page.getByRole('option', { name: 'src/cart.js' }).waitFor()
    isHeld = true
    await field.pressSequentially('t please')
    await field.press('Enter')
    await page.getByRole('feed').getByText('@cart please').waitFor()
    model.reply('I look.')
    await page.getByRole('feed').getByText('I look.').waitFor()
    expect(await field.inputValue()).toBe('')
  })

  test('WB139 a file that is attached, and a menu that is opened, while the server is away are told, and go on when it is back', async () => {
    const served = await serveLed()
    await writeSession(served.store, 's', [turn('u1', 'user', text('Begin')), turn('a1', 'assistant', text('Begun.'))])
    const page = await openSession(browser(), served, 's', { mayReport: /net::ERR_|Failed to/ })
    await served.cut()
    const notes = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Some notes') }
    await page.getByLabel('Files to attach').setInputFiles([notes])
    await page.getByText('could not be loaded').first().waitFor() // the line that says it has to be loaded, too
    await page.locator('.message').hover()
    await page.locator('.message').getByRole('button', { name: 'More about this' }).click()
    await page.locator('.message').getByText('could not be loaded').first().waitFor()
    await served.listen()
    await page.getByRole('list', { name: 'Attached' }).getByText('notes.txt').waitFor()
    await page.getByRole('menuitem', { name: /Open it again/ }).waitFor()
    await page.keyboard.press('Escape')
    await page.context().grantPermissions(['clipboard-write'])
    await page.locator('.message').hover()
    await page.locator('.message').getByRole('button', { name: 'More about this' }).click()
    await page.getByRole('menuitem', { name: 'Copy', exact: true }).click()
    await page.getByText('Copied.', { exact: true }).waitFor()

    // Dropped beside the field it is no reason to leave the page.
    const isTaken = await page.evaluate(() => {
      const transfer = new DataTransfer()
      transfer.items.add(new File(['x'], 'x.txt'))
      const event = new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: transfer })
      document.querySelector('.conversation')!.dispatchEvent(event)
      return event.defaultPrevented
    })
    expect(isTaken).toBe(true)
  })

  test('WB139 arrow up brings back all of a long message, and what is marked on a card is there after a reload', async () => {
    const ask = tool('ask', { gated: true })
    const { model, ...served } = await serveLed({ tools: { ask } })
    const long = `Begin ${'x'.repeat(30_000)} end`
    await writeSession(served.store, 's', [turn('u1', 'user', text(long)), turn('a1', 'assistant', text('Begun.'))])
    const page = await openSession(browser(), served, 's')
    const field = page.getByRole('textbox', { name: 'Message' })
    await field.press('ArrowUp')
    await eventually(() => field.inputValue()).toBe(long)
    await field.fill('')
    await write(page, 'Ask')
    model.reply('Wait.', [call('c1', 'ask', { text: 'a' })])
    await page.getByRole('button', { name: 'Deny, because …' }).click()
    const reason = page.getByLabel('Why not?')
    await reason.fill('Because')
    // Before its half second in sight nothing is sent.
    await page.addInitScript(() => {
      const { setTimeout: start } = globalThis
      const isHeld = sessionStorage.getItem('held') !== null
      const held = (work: () => void, ms?: number): unknown => (ms === 500 && isHeld ? 0 : start(work, ms))
      Object.assign(globalThis, { setTimeout: held })
    })
    await page.evaluate(() => sessionStorage.setItem('held', 'yes'))
    await page.reload()
    await eventually(() => reason.inputValue()).toBe('Because')
    await reason.press('Control+Enter')
    expect((await served.send('GET', '/v1/pending')).body.pending).toHaveLength(1)
    await page.evaluate(() => sessionStorage.removeItem('held'))
    await page.reload()
    await page.getByRole('button', { name: 'Deny with this reason' }).click()
    model.reply('Then not.')
    await page.getByRole('feed').getByText('Then not.').waitFor()
  })

  test('WB139 a card that waits stays as it is while it is out of sight', async () => {
    const { model, ...served } = await serveLed({ tools: { ask: tool('ask', { gated: true }) } })
    const turns = Array.from({ length: 40 }, (_, i) => [
      turn(`u${i}`, 'user', text(`Question ${i}`)),
      turn(`a${i}`, 'assistant', text('word '.repeat(400))),
    ])
    await writeSession(served.store, 's', turns.flat())
    const page = await openSession(browser(), served, 's')
    await write(page, 'Ask')
    model.reply('Wait.', [call('c1', 'ask', { text: 'a' })])
    const reasons = page.locator('.card .why-asked')
    await reasons.locator('summary').click()
    const feed = page.getByRole('feed')
    await feed.evaluate((view) => view.scrollTo({ top: 0 }))
    await feed.getByText('Question 0').waitFor()
    expect(await reasons.getAttribute('open')).not.toBeNull()
  })

  test('WB139 a first read that the server fails is tried again, and one that fails for long is told', async () => {
    const served = await serveLed()
    await writeSession(served.store, 's', [turn('u1', 'user', text('Begin')), turn('a1', 'assistant', text('Begun.'))])
    const page = await openTab(browser(), served.link, { mayReport: /status of 500/ })
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    let failures = 0
    await page.route('**/v1/sessions/s/entries*', (route) =>
      failures++ < 2 ? route.fulfill({ status: 500 }) : route.continue(),
    )
    await page.goto(`${served.url}/s/s`)
    await page.getByRole('feed').getByText('Begun.').waitFor()
    expect(failures).toBeGreaterThan(2)
  })
})
